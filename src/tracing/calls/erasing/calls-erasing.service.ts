import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/auth/caller.js';
import { ApiError, isTimeout } from '../../../platform/errors.js';
import { Database } from '../../../platform/database/database.js';
import { STATEMENT_MS } from '../../../platform/database/limits.js';
import { isListed, sql, type Sql } from '../../../platform/query/sql.js';
import type { RowCounts, ErasingRow } from '../../../platform/erasing/erasings.query.js';
import { spellRefs } from '../../../platform/http/refs.js';
import { feedbackErase, MAX_FEEDBACK } from '../../feedback-erasing.query.js';
import { callsOfHold, heldAmong } from '../../held-parts.query.js';
import { isUnreadIn } from '../usage/unread-usage.query.js';
import {
  ErasingsService,
  type NewErasing,
  type ErasingStep,
} from '../../../platform/erasing/erasings.service.js';
import {
  callsErase,
  callsLock,
  type CallCursor,
  endedCalls,
  descendantsQuery,
  matchingCalls,
  MAX_CALLS,
  overdueCalls,
  overdueErase,
  payloadsErase,
  payloadsQuery,
  startedCalls,
  statementLimit,
  unnoticedCalls,
  unnoticedNote,
  windowEnd,
} from './calls-erasing.query.js';
import type { CallsPurgeDto } from '../calls.dto.js';
import { childrenMark, MAX_MARKED } from '../ingest/orphans.query.js';
import { Turns } from '../ingest/turns.service.js';
import { isMatch } from '../read/calls.query.js';
import { CALLS } from '../call.entity.js';
import { FEEDBACK } from '../../feedback/feedback.entity.js';
import { type Actor, deletionAction, MAX_AUDITED } from '../../../platform/audit/add-event.js';
import { assertNotHeld, awaitHolds, partHoldsOf } from '../../../platform/audit/legal-holds.js';
import { DerivedDataRegistry } from './derived-data.service.js';

const CALLS_PURGE = deletionAction('calls.purge');

export type { CallCursor };

const KIND = 'calls';

/** How long a look for matching calls should take, how long it may take, and for a single call. */
const LOOK_MS = 100;
const MAX_LOOK_MS = 1000;
const MAX_CALL_MS = 10_000;

interface MatchCursor {
  after: string | null;
  /** Number of calls that the next step looks at. Steps of older builds have none. */
  size?: number;
}

/**
 * Position of an erasing of all calls before a time. Calls with a start come first, ordered by start. Then come the
 * others, ordered by id.
 */
export interface ErasingCursor {
  after: CallCursor | null;
  isStarted: boolean;
}

export const FIRST_CALLS: ErasingCursor = { after: null, isStarted: true };

/** Erases calls with their feedback, and payloads of calls, one batch at a time. */
@Injectable()
export class CallsErasingService {
  constructor(
    private readonly database: Database,
    private readonly erasings: ErasingsService,
    private readonly made: DerivedDataRegistry,
    private readonly turns: Turns,
  ) {
    erasings.register(KIND, (erasing) => this.step(erasing));
  }

  /** Stores a request to erase calls. Returns the id of the erasing. */
  async begin(body: CallsPurgeDto, caller: Caller): Promise<string> {
    const { project_id: projectId, ...request } = body;
    assertOneWay(body);
    const isPurged = purgedCalls(body); // refuses an invalid query now
    const erasure: NewErasing = {
      projectId,
      kind: KIND,
      request,
      event: { action: CALLS_PURGE, detail: describePurge(body) },
    };
    return this.database.transaction({ long: 'bulk' }, async () => {
      if (!request.call_ids) {
        await this.assertNoneHeld(projectId, isPurged);
        return this.erasings.begin(erasure, caller);
      }
      const targets = await this.findFamily(projectId, request.call_ids);
      await this.assertNoneHeld(projectId, isListed(sql`c.id`, targets));
      const known = new Set(targets);
      const call_ids = request.call_ids.filter((id) => known.has(id)).slice(0, MAX_AUDITED);
      const detail = { by: 'call_ids', call_ids, num_calls: targets.length };
      const event = { action: CALLS_PURGE, detail };
      return this.erasings.begin({ ...erasure, request: {}, targets, event }, caller);
    });
  }

  private assertNoneHeld(projectId: string, condition: Sql): Promise<void> {
    return assertNotHeld(this.database, projectId, callsOfHold(projectId, condition));
  }

  /** Returns the ids of the calls and of their descendants in the same trace. */
  async findFamily(projectId: string, ids: readonly string[]): Promise<string[]> {
    return (await this.database.query(descendantsQuery(projectId, ids))).map(({ id }) => id);
  }

  /** Erases the next calls before a time, in the transaction of the caller. `cursor` is null when no call is left. */
  async eraseBefore(
    projectId: string,
    before: string,
    cursor: ErasingCursor,
    purgedBy: Actor | null = null,
  ): Promise<{ cursor: ErasingCursor | null; counts: RowCounts }> {
    const { after, isStarted } = cursor;
    const query = isStarted
      ? startedCalls(projectId, before, after)
      : endedCalls(projectId, before, after?.id ?? null);
    const found = await this.database.query(query);
    if (found.length === 0)
      return { cursor: isStarted ? { after: null, isStarted: false } : null, counts: {} };
    const { isWhole, counts } = await this.erase(projectId, callIds(found), purgedBy);
    const { id, started } = found.at(-1)!;
    return { cursor: isWhole ? { after: { id, started }, isStarted } : cursor, counts };
  }

  /**
   * Removes the payloads of the next calls that started before a time, in the transaction of the caller. `after` is
   * null when no call is left. It is also null while the usage of calls of an older build is unread: the payload is
   * needed to read it.
   */
  async erasePayloads(
    projectId: string,
    before: string,
    after: CallCursor | null,
  ): Promise<{ after: CallCursor | null; payloads: number }> {
    const [usage] = await this.database.query(isUnreadIn(projectId));
    if (usage!.is_unread) return { after: null, payloads: 0 };
    const found = await this.database.query(payloadsQuery(projectId, before, after));
    const last = found.at(-1);
    if (!last) return { after: null, payloads: 0 };
    const withPayload = callIds(found.filter(({ has_payload }) => has_payload));
    const next = { id: last.id, started: last.started };
    if (withPayload.length === 0) return { after: next, payloads: 0 };
    await this.database.query(callsLock(projectId, withPayload));
    const ids = await this.notHeld(projectId, withPayload);
    const erased = await this.database.query(payloadsErase(projectId, ids));
    this.database.changes.note(projectId, CALLS);
    await this.made.forget(projectId, ids);
    return { after: next, payloads: erased.length };
  }

  /** Records that the next calls without a start wait for it from now on. Returns their number. */
  noteStartless(): Promise<number> {
    return this.eachProject(unnoticedCalls(), unnoticedNote);
  }

  eraseStartless(): Promise<number> {
    return this.eachProject(overdueCalls(), overdueErase);
  }

  private async eachProject(
    found: ReturnType<typeof overdueCalls>,
    write: typeof overdueErase,
  ): Promise<number> {
    let count = 0;
    for (const { project_id, ids } of await this.database.query(found)) {
      await this.database.query(awaitHolds(project_id));
      count += (await this.database.query(write(project_id, ids))).length;
    }
    return count;
  }

  private async step(erasing: ErasingRow): Promise<ErasingStep> {
    const { project_id, request, targets, cursor, key_id, user_name } = erasing;
    const by = { keyId: key_id, userName: user_name };
    if (targets) return this.eraseTargets(project_id, targets, cursor as { at: number } | null, by);
    const { filter, query, before } = request as CallsPurgeDto;
    if (before)
      return this.eraseBefore(
        project_id,
        before,
        (cursor as ErasingCursor | null) ?? FIRST_CALLS,
        by,
      );
    const condition = isMatch({ project_id, filter, query });
    return this.eraseMatching(project_id, condition, cursor as MatchCursor | null, by);
  }

  /**
   * Erases the matching calls of the next ones. The number of calls that are looked at follows the time that a look
   * takes, so that an expensive query makes small steps and not long ones.
   */
  private async eraseMatching(
    projectId: string,
    condition: Sql,
    cursor: MatchCursor | null,
    by: Actor,
  ): Promise<ErasingStep> {
    const { after = null, size = MAX_CALLS } = cursor ?? {};
    const [end] = await this.database.query(windowEnd(projectId, after, size));
    const until = end?.id ?? null;
    const started = performance.now();
    const found = await this.match(matchingCalls(projectId, condition, { after, until }), size);
    const ms = performance.now() - started;
    const factor = Math.max(1 / 8, Math.min(4, LOOK_MS / ms));
    const next = { size: Math.max(1, Math.floor(size * factor)) };
    if (!found) return { cursor: { after, ...next }, counts: {} };
    if (found.length === 0)
      return { cursor: until === null ? null : { after: until, ...next }, counts: {} };
    const { isWhole, counts } = await this.erase(projectId, callIds(found), by);
    return { cursor: { after: isWhole ? found.at(-1)!.id : after, ...next }, counts };
  }

  /**
   * Returns the matching calls of a window, or null when the look took too long.
   * @throws Error when it took too long for a single call
   */
  private async match(calls: Sql<CallCursor>, size: number): Promise<CallCursor[] | null> {
    try {
      return await this.database.transaction({ isSavepoint: true }, async () => {
        await this.database.query(statementLimit(size > 1 ? MAX_LOOK_MS : MAX_CALL_MS));
        const found = await this.database.query(calls);
        await this.database.query(statementLimit(STATEMENT_MS.bulk));
        return found;
      });
    } catch (error) {
      if (size > 1 && isTimeout(error)) return null;
      throw error;
    }
  }

  private async eraseTargets(
    projectId: string,
    targets: string[],
    cursor: { at: number } | null,
    by: Actor,
  ): Promise<ErasingStep> {
    const at = cursor?.at ?? 0;
    const ids = targets.slice(at, at + MAX_CALLS);
    if (ids.length === 0) return { cursor: null, counts: {} };
    const { isWhole, counts } = await this.erase(projectId, ids, by);
    return { cursor: { at: isWhole ? at + ids.length : at }, counts };
  }

  /**
   * Erases the calls that are not held, with their feedback. If one transaction cannot take all feedback or all calls
   * below, only a part of these is erased or marked, and `isWhole` is false.
   */
  private async erase(
    projectId: string,
    found: string[],
    purgedBy: Actor | null,
  ): Promise<{ isWhole: boolean; counts: RowCounts }> {
    await this.turns.hold(projectId);
    await this.database.query(callsLock(projectId, found));
    const ids = await this.notHeld(projectId, found);
    this.database.changes.note(projectId, CALLS);
    this.database.changes.note(projectId, FEEDBACK);
    const refs = spellRefs(projectId, ['call'], ids);
    const feedback = (await this.database.query(feedbackErase(projectId, refs))).length;
    if (feedback === MAX_FEEDBACK) return { isWhole: false, counts: { feedback } };
    const orphans = await this.database.query(childrenMark(projectId, ids));
    if (orphans.length === MAX_MARKED) return { isWhole: false, counts: { feedback } };
    const erased = await this.database.query(callsErase(projectId, ids));
    const calls = erased.length;
    const traceIds = new Set(erased.flatMap(({ trace_id }) => trace_id ?? []));
    await this.turns.settle(projectId, [...traceIds]);
    await this.made.forget(projectId, ids, purgedBy);
    return { isWhole: true, counts: { calls, feedback } };
  }

  private async notHeld(projectId: string, ids: string[]): Promise<string[]> {
    const holds = await partHoldsOf(this.database, projectId);
    if (holds.length === 0) return ids;
    const held = await this.database.query(heldAmong(projectId, ids, holds));
    const heldIds = new Set(held.map(({ id }) => id));
    return ids.filter((id) => !heldIds.has(id));
  }
}

const callIds = (calls: CallCursor[]) => calls.map(({ id }) => id);

const isPresent = (value: unknown) => value !== undefined && value !== null;

function assertOneWay({ call_ids, filter, query, before }: CallsPurgeDto): void {
  const ways = [isPresent(call_ids), isPresent(filter) || isPresent(query), isPresent(before)];
  if (ways.filter(Boolean).length !== 1)
    throw new ApiError(
      'invalid_request',
      'exactly one of call_ids, filter or query, and before is required',
    );
}

/** @throws InvalidQuery */
const purgedCalls = ({ before, ...body }: CallsPurgeDto): Sql =>
  before ? sql`c.started_at < ${before}::timestamptz` : isMatch(body);

/**
 * Describes a purge for the audit log. Leaves out the values of the filter and of the query, which may be the data to
 * erase.
 */
function describePurge({ filter, query, before }: CallsPurgeDto): object {
  if (before) return { by: 'before', before };
  return { by: filter && query ? 'filter and query' : filter ? 'filter' : 'query' };
}
