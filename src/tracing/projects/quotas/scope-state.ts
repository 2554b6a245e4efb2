import { ApiError, rateLimited } from '../../../platform/errors.js';
import {
  ALL_PROJECTS,
  COUNTERS,
  LIMITS,
  type QuotaLimits,
  type QuotaName,
  type ScopeUse,
  type UseCounters,
} from './quotas.query.js';

const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

export const limitsFrom = (limit: (name: QuotaName) => number | null): QuotaLimits =>
  Object.fromEntries(LIMITS.map((name) => [name, limit(name)])) as QuotaLimits;
export const NO_LIMITS = limitsFrom(() => null);

export const countsFrom = (count: (name: keyof UseCounters) => number): UseCounters =>
  Object.fromEntries(COUNTERS.map((name) => [name, count(name)])) as UseCounters;
const noCounts = () => countsFrom(() => 0);

/** Returns bytes that were written as uses of the project and of its entity. */
export function writtenUses(projectId: string, written_bytes: number): ScopeUse[] {
  const [entity, project] = projectId.split('/') as [string, string];
  const counts = { ...noCounts(), written_bytes };
  return [ALL_PROJECTS, project].map((name) => ({ entity, project: name, ...counts }));
}

/** Returns the day in UTC, in the form of PostgreSQL. */
export const today = (): string => new Date().toISOString().slice(0, 10);

/**
 * An entity, or one of its projects, in the memory of a process: its limits, the use of today by all processes as of
 * the last exchange, and what this process has counted since. Requests in a minute are a leaky bucket, which also takes
 * the requests of other processes once they are known.
 */
export class ScopeState {
  limits = NO_LIMITS;
  storedBytes = 0;
  /** Counted by this process since the last exchange. */
  own = noCounts();
  /** The part of it that is being stored. */
  private taken = noCounts();
  private all = noCounts();
  private day = today();
  private level = 0;
  private levelAt = performance.now();
  private isShared = false;

  constructor(
    readonly entity: string,
    readonly project: string,
  ) {}

  get name(): string {
    return `${this.entity}/${this.project}`;
  }

  get isLimited(): boolean {
    return LIMITS.some((name) => this.limits[name] !== null);
  }

  get isCounted(): boolean {
    return COUNTERS.some((name) => this.own[name] > 0);
  }

  /** Takes what this process counted, to be stored. `share` or `putBack` follows. */
  takeOwn(): ScopeUse {
    const { entity, project, own } = this;
    this.taken = own;
    this.own = noCounts();
    return { entity, project, ...own };
  }

  /** Counts again what could not be stored. */
  putBack(): void {
    for (const name of COUNTERS) this.own[name] += this.taken[name];
    this.taken = noCounts();
  }

  /** Notes what all processes used, with what was taken. */
  share(day: string, all: UseCounters = noCounts()): void {
    const before = day === this.day ? admitted(this.all) : 0;
    const others = admitted(all) - before - admitted(this.taken);
    if (this.isShared) this.fill(Math.max(0, others));
    this.all = all;
    this.day = day;
    this.taken = noCounts();
    this.isShared = true;
  }

  /** @throws ApiError `rate_limited` */
  assertRequests(): void {
    const limit = this.limits.requests_per_minute;
    if (limit === null) return;
    const level = this.fill(0);
    if (level + 1 > limit)
      this.refuse('requests_per_minute', level, ((level + 1 - limit) * MINUTE_MS) / (limit || 1));
    this.level++;
  }

  /** @throws ApiError `rate_limited` */
  assertCalls(): void {
    this.assertOfDay('calls_per_day', 'calls');
  }

  /** @throws ApiError `rate_limited`, `quota_exceeded` */
  assertBytes(): void {
    this.assertOfDay('written_bytes_per_day', 'written_bytes');
    const limit = this.limits.stored_bytes;
    if (limit === null) return;
    const stored = this.storedBytes + this.taken.written_bytes + this.own.written_bytes;
    if (stored >= limit) this.refuse('stored_bytes', stored, null);
  }

  private assertOfDay(name: QuotaName, counter: keyof UseCounters): void {
    const limit = this.limits[name];
    if (limit === null) return;
    const all = today() === this.day ? this.all[counter] : 0;
    const used = all + this.taken[counter] + this.own[counter];
    if (used >= limit) this.refuse(name, used, DAY_MS - (Date.now() % DAY_MS));
  }

  private refuse(name: QuotaName, used: number, ms: number | null): never {
    const limit = this.limits[name]!;
    const resets_at = ms === null ? null : new Date(Date.now() + ms).toISOString();
    const quota = { scope: this.name, name, used: Math.floor(used), limit, resets_at };
    const whose = this.project === ALL_PROJECTS ? `entity ${this.entity}` : `project ${this.name}`;
    const detail = `the quota ${name} of the ${whose} is full: ${quota.used} of ${limit}`;
    if (ms !== null) throw rateLimited(`${detail}, until ${resets_at}`, ms, { quota });
    throw new ApiError('quota_exceeded', `${detail}, until data is erased`, {
      extra: { quota },
      isOverLimit: true,
    });
  }

  /** Adds requests to the bucket, and returns its level. */
  private fill(requests: number): number {
    const now = performance.now();
    const limit = this.limits.requests_per_minute ?? 0;
    const drained = ((now - this.levelAt) * limit) / MINUTE_MS;
    this.levelAt = now;
    return (this.level = Math.max(0, this.level - drained) + requests);
  }
}

const admitted = (counts: UseCounters) => counts.requests - counts.refused_requests;
