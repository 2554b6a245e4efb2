import { Inject, Injectable } from '@nestjs/common';
import { addEvent, auditAction } from '../../../platform/audit/add-event.js';
import { Admissions, type QuotaChecks } from '../../../platform/auth/limits/admission.js';
import type { Caller } from '../../../platform/auth/caller.js';
import { scopeCovers } from '../../../platform/auth/grants.js';
import { CONFIG, type Config } from '../../../platform/config/config.js';
import { Database } from '../../../platform/database/database.js';
import { Schedule } from '../../../platform/database/schedule.js';
import { ApiError } from '../../../platform/errors.js';
import { ownerEntity } from '../../../platform/process/fair-queue.js';
import { ProjectsService } from '../projects.service.js';
import type { QuotaDto, QuotaSetDto, QuotasQueryDto, ScopeUsesDto } from './quotas.dto.js';
import {
  ALL_PROJECTS,
  LIMITS,
  oldUsesDelete,
  otherQuotasCount,
  quotaDelete,
  type QuotaLimits,
  quotaSet,
  quotasOf,
  type ScopeUse,
  type StoredQuota,
  usesAdd,
  usesList,
  usesOf,
} from './quotas.query.js';
import { countsFrom, DAY_MS, limitsFrom, NO_LIMITS, ScopeState, today } from './scope-state.js';

const QUOTA_SET = auditAction('quota.set');

const EXCHANGE_MS = 2000;
/** Entities that have used nothing for this many exchanges are forgotten. */
const IDLE_EXCHANGES = 30;
/**
 * Most projects of an entity that have quotas, and that are counted between two exchanges. Requests that name more are
 * counted for the entity only.
 */
const MOST_PROJECTS = 1000;
const PAGE = 100;
const MOST_REQUESTS = [{ field: 'requests', direction: 'desc' }] as const;

/** An entity in the memory of this process, with its projects that are limited or were used lately. */
interface EntityState {
  whole: ScopeState;
  projects: Map<string, ScopeState>;
  idle: number;
  reading: Promise<void> | undefined;
  isRead: boolean;
}

/**
 * Counts what entities and projects use, and refuses what is over a quota. All checks are made in memory. Each process
 * exchanges its counts with the others through the database every two seconds, so a limit may be passed by what is
 * admitted meanwhile.
 */
@Injectable()
export class QuotasService implements QuotaChecks {
  private readonly entities = new Map<string, EntityState>();
  @Inject(CONFIG) private readonly config!: Config;
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly projects: ProjectsService,
    admissions: Admissions,
    schedule: Schedule,
  ) {
    admissions.checks = this;
    schedule.every(EXCHANGE_MS, 'quotas', () => this.exchange());
    schedule.every(DAY_MS, 'old uses of projects', async () => {
      await this.database.query(oldUsesDelete(today()));
    });
  }

  admit(caller: Caller): Promise<void> | undefined {
    const { onlyProject } = caller;
    const state = this.entity(ownerEntity(caller.owner));
    const assert = () => {
      const project = onlyProject === null ? undefined : state.projects.get(partOf(onlyProject));
      try {
        project?.assertRequests();
        state.whole.assertRequests();
      } catch (error) {
        if (project) project.own.refused_requests++;
        state.whole.own.refused_requests++;
        throw error;
      }
    };
    if (!state.isRead) return this.read(state).then(assert);
    assert();
    return undefined;
  }

  admitTo(projectId: string, { isWrite, isNew }: { isWrite: boolean; isNew: boolean }): void {
    const state = this.entity(entityOf(projectId));
    // A key of all entities does not wait for the quotas of one.
    if (!state.isRead) void this.read(state).catch(() => {});
    const project = state.projects.get(partOf(projectId));
    if (isNew) project?.assertRequests();
    if (!isWrite) return;
    project?.assertBytes();
    state.whole.assertBytes();
  }

  noteRefusal(projectId: string): void {
    for (const scope of this.scopesOf(projectId)) scope.own.refused_requests++;
  }

  /**
   * Counts starts of calls before they are stored.
   * @throws ApiError `rate_limited`
   */
  takeCalls(projectId: string, count: number): void {
    if (count === 0) return;
    const scopes = this.scopesOf(projectId);
    try {
      for (const scope of scopes) scope.assertCalls();
    } catch (error) {
      this.noteRefusal(projectId);
      throw error;
    }
    for (const scope of scopes) scope.own.calls += count;
  }

  /** Counts bytes of calls that were written. Triggers count those of other rows. */
  noteWritten(projectId: string, bytes: number): void {
    for (const scope of this.scopesOf(projectId)) scope.own.written_bytes += bytes;
  }

  /** Counts an answered request. */
  noteRequest(caller: Caller | undefined, receivedBytes: number): void {
    if (!caller) return;
    const sender = ownerEntity(caller.owner);
    if (isEntity(sender)) note(this.entity(sender).whole, receivedBytes);
    for (const projectId of caller.countedProjects)
      for (const scope of this.scopesOf(projectId))
        if (scope.project !== ALL_PROJECTS || !isEntity(sender)) note(scope, receivedBytes);
  }

  async list({ day, limit, sort_by }: QuotasQueryDto, { scopes }: Caller): Promise<ScopeUsesDto> {
    const request = {
      day: day ?? today(),
      limit: limit ?? PAGE,
      sort_by: sort_by?.length ? sort_by : MOST_REQUESTS,
    };
    const rows = await this.database.query(usesList(scopes, request), { long: 'read' });
    const stored = await this.projects.storedBytes(rows.map(({ scope }) => scope));
    return {
      scopes: rows.map((row) => ({
        scope: row.scope,
        ...countsFrom((name) => row[name]),
        stored_bytes: stored.get(row.scope) ?? 0,
        limits: this.effective(
          limitsFrom((name) => row[`limit_${name}`]),
          row.scope.endsWith(`/${ALL_PROJECTS}`),
        ),
      })),
    };
  }

  async set({ scope, ...given }: QuotaSetDto, caller: Caller): Promise<QuotaDto> {
    const [entity, project] = scope.split('/') as [string, string];
    const above = project === ALL_PROJECTS ? '*' : `${entity}/*`;
    if (!caller.scopes.some((own) => scopeCovers(own, above)))
      throw new ApiError(
        'forbidden',
        `the quotas of ${scope} are set by an admin with the scope ${above}`,
      );
    const limits = limitsFrom((name) => given[name] ?? null);
    await this.database.transaction(async () => {
      await this.store({ entity, project, ...limits });
      const event = { action: QUOTA_SET, by: caller, target: scope, scopes: [scope] };
      await addEvent(this.database, { ...event, detail: limits });
    });
    await this.read(this.entity(entity));
    return { scope, ...limits };
  }

  private async store(quota: StoredQuota): Promise<void> {
    if (LIMITS.every((name) => quota[name] === null)) {
      await this.database.query(quotaDelete(quota));
      return;
    }
    const [row] = await this.database.query(otherQuotasCount(quota));
    if (quota.project !== ALL_PROJECTS && row!.others >= MOST_PROJECTS)
      throw new ApiError(
        'too_large',
        `at most ${MOST_PROJECTS} projects of an entity have quotas: set those of another one to null`,
      );
    await this.database.query(quotaSet(quota));
  }

  private effective(limits: QuotaLimits, isEntity: boolean): QuotaLimits {
    return isEntity ? limitsFrom((name) => limits[name] ?? this.config.quotas[name]) : limits;
  }

  private entity(name: string): EntityState {
    let state = this.entities.get(name);
    if (!state) {
      const whole = new ScopeState(name, ALL_PROJECTS);
      state = { whole, projects: new Map(), idle: 0, reading: undefined, isRead: !isEntity(name) };
      this.entities.set(name, state);
    }
    state.idle = 0;
    return state;
  }

  /** Returns the project, if it can be counted, and its entity. */
  private scopesOf(projectId: string): ScopeState[] {
    const { whole, projects } = this.entity(entityOf(projectId));
    const name = partOf(projectId);
    let project = projects.get(name);
    if (!project && projects.size < MOST_PROJECTS)
      projects.set(name, (project = new ScopeState(whole.entity, name)));
    return project ? [project, whole] : [whole];
  }

  /** Reads the quotas of an entity, and what it has used, for its first request in this process. */
  private read(state: EntityState): Promise<void> {
    return (state.reading ??= this.refresh([state]).finally(() => (state.reading = undefined)));
  }

  /** Stores what was counted here, and reads what others counted. */
  private async exchange(): Promise<void> {
    for (const [entity, ms] of this.database.takeSlotMs())
      if (isEntity(entity)) this.entity(entity).whole.own.slot_ms += Math.round(ms);
    const busy: EntityState[] = [];
    for (const [name, state] of this.entities) {
      if (++state.idle > IDLE_EXCHANGES) this.entities.delete(name);
      else if (state.idle === 1 && isEntity(name)) busy.push(state);
    }
    if (busy.length > 0) await this.refresh(busy);
  }

  /** Refreshes run one after the other, because each adds what others have counted since the one before. */
  private refresh(states: readonly EntityState[]): Promise<void> {
    return (this.last = this.last.catch(() => {}).then(() => this.refreshNow(states)));
  }

  private async refreshNow(states: readonly EntityState[]): Promise<void> {
    const day = today();
    const taken = new Map<ScopeState, ScopeUse>();
    for (const scope of scopesIn(states)) if (scope.isCounted) taken.set(scope, scope.takeOwn());
    try {
      await this.readLimits(states);
      const scopes = scopesIn(states);
      const bounded = scopes.filter(({ limits }) => limits.stored_bytes !== null);
      const stored = await this.projects.storedBytes(bounded.map(({ name }) => name));
      const added = await this.usesOfReal(taken);
      const others = scopes.filter((scope) => scope.isLimited && !taken.has(scope));
      const uses = await this.addUses(day, added, others);
      for (const scope of scopes) {
        scope.share(day, uses.get(scope.name));
        scope.storedBytes = stored.get(scope.name) ?? 0;
      }
    } catch (error) {
      for (const scope of taken.keys()) scope.putBack();
      for (const state of states) state.idle = 0;
      throw error;
    }
    for (const state of states) {
      state.isRead = true;
      for (const [name, project] of state.projects)
        if (!project.isLimited && !project.isCounted) state.projects.delete(name);
    }
  }

  /** Names of projects are the client's choice: only those that have quotas or store something are counted. */
  private async usesOfReal(taken: ReadonlyMap<ScopeState, ScopeUse>): Promise<ScopeUse[]> {
    const isSure = ({ project, isLimited }: ScopeState, { calls, written_bytes }: ScopeUse) =>
      project === ALL_PROJECTS || isLimited || calls > 0 || written_bytes > 0;
    const unsure = [...taken].filter(([scope, use]) => !isSure(scope, use));
    const storing = await this.projects.storing(unsure.map(([{ name }]) => name));
    return [...taken].flatMap(([scope, use]) =>
      isSure(scope, use) || storing.has(scope.name) ? [use] : [],
    );
  }

  private async readLimits(states: readonly EntityState[]): Promise<void> {
    const rows = await this.database.query(quotasOf(states.map(({ whole }) => whole.entity)));
    const limits = new Map(rows.map((row) => [`${row.entity}/${row.project}`, row]));
    for (const { whole, projects } of states) {
      whole.limits = this.effective(limits.get(whole.name) ?? NO_LIMITS, true);
      for (const { entity, project } of rows)
        if (entity === whole.entity && project !== ALL_PROJECTS && !projects.has(project))
          projects.set(project, new ScopeState(entity, project));
      for (const project of projects.values())
        project.limits = limits.get(project.name) ?? NO_LIMITS;
    }
  }

  /** Adds what was counted here. Returns what all processes used, also of the other scopes. */
  private async addUses(
    day: string,
    added: readonly ScopeUse[],
    others: readonly ScopeState[],
  ): Promise<Map<string, ScopeUse>> {
    const names = others.map(({ entity, project }) => ({ entity, project }));
    const rows = [
      ...(added.length > 0
        ? await this.database.transaction({ isUrgent: true }, () =>
            this.database.query(usesAdd(day, added)),
          )
        : []),
      ...(names.length > 0 ? await this.database.query(usesOf(day, names)) : []),
    ];
    return new Map(rows.map((row) => [`${row.entity}/${row.project}`, row]));
  }
}

const scopesIn = (states: readonly EntityState[]): ScopeState[] =>
  states.flatMap(({ whole, projects }) => [whole, ...projects.values()]);

/** A key of all entities is an entity of its own in `Shares`, which has no quotas. */
const isEntity = (name: string) => name !== '' && !name.startsWith('*');

const entityOf = (projectId: string) => projectId.slice(0, projectId.indexOf('/'));
const partOf = (projectId: string) => projectId.slice(projectId.indexOf('/') + 1);

function note({ own }: ScopeState, receivedBytes: number): void {
  own.requests++;
  own.received_bytes += receivedBytes;
}
