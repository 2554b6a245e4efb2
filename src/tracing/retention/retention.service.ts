import { Inject, Injectable } from '@nestjs/common';
import { addEvent, auditAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { LegalHold } from '../../platform/audit/legal-hold.entity.js';
import { heldKind, type PartHold, stopErasing } from '../../platform/audit/legal-holds.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { ApiError, assertNone, invalidRequest } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { sql } from '../../platform/query/sql.js';
import { callsOfHold } from '../held-parts.query.js';
import type {
  HoldReleaseDto,
  LegalHoldDto,
  RetentionAnswerDto,
  RetentionDto,
} from './retention.dto.js';
import { RetentionPolicy } from './retention-policy.entity.js';

const RETENTION_SET = auditAction('retention.set');
const HOLD_SET = auditAction('retention.hold');
const HOLD_RELEASE = auditAction('retention.release');

const MAX_HOLDS = 20;

const FOR_EVER = { calls: null, payloads: null, feedback: null };
const REPLACED = [
  'calls_days',
  'payload_days',
  'feedback_days',
  'is_default',
  'payload_cursor',
  'walk_started_at',
];

@Injectable()
export class RetentionService {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  set(body: RetentionDto, caller: Caller): Promise<RetentionAnswerDto> {
    const { project_id: projectId, calls_days = null, payload_days = null } = body;
    const { feedback_days = null } = body;
    const detail = { calls_days, payload_days, feedback_days };
    const policy = {
      projectId,
      callsDays: calls_days,
      payloadDays: payload_days,
      feedbackDays: feedback_days,
      isDefault: false,
    };
    return this.database.transaction(async () => {
      const insert = this.database.repository(RetentionPolicy).createQueryBuilder().insert();
      await insert.values(policy).orUpdate(REPLACED, ['project_id']).execute();
      await addEvent(this.database, {
        action: RETENTION_SET,
        by: caller,
        projectId,
        detail,
      });
      return this.read(projectId);
    });
  }

  hold(body: LegalHoldDto, by: Caller): Promise<RetentionAnswerDto> {
    const { project_id: projectId, name, trace_id, thread_id, reason = null } = body;
    const part = { traceId: trace_id ?? null, threadId: thread_id ?? null };
    assertOnePart(part);
    return this.database.transaction({ long: 'write' }, async () => {
      await this.database.query(stopErasing(projectId));
      const holds = this.database.repository(LegalHold);
      const known = await holds.findOneBy({ projectId, name });
      if (known) {
        assertSamePart(known, part);
        return this.read(projectId);
      }
      await this.assertStored(projectId, part);
      if ((await holds.countBy({ projectId })) >= MAX_HOLDS)
        throw new ApiError('too_large', `a project has at most ${MAX_HOLDS} legal holds`);
      await holds.insert({ projectId, name, ...part, reason, userName: by.userName });
      const detail = holdDetail(part, reason);
      await addEvent(this.database, { action: HOLD_SET, by, projectId, target: name, detail });
      return this.read(projectId);
    });
  }

  /** Refuses a trace or thread that is misspelled: it would hold nothing. */
  private async assertStored(projectId: string, part: PartHold): Promise<void> {
    const kind = heldKind(part);
    if (kind === null) return;
    const [row] = await this.database.query(callsOfHold(projectId, sql`TRUE`)(part));
    const message = `must name a ${kind} with a call`;
    assertNone(row!.is_hit ? [] : [{ path: `${kind}_id`, message }]);
  }

  release(body: HoldReleaseDto, by: Caller): Promise<RetentionAnswerDto> {
    const { project_id: projectId, name, reason = null } = body;
    return this.database.transaction(async () => {
      const holds = this.database.repository(LegalHold);
      const hold = await holds.findOneBy({ projectId, name });
      if (!hold || !(await holds.delete({ projectId, name })).affected)
        throw new ApiError('not_found', 'the project has no legal hold of this name');
      const detail = holdDetail(hold, reason);
      await addEvent(this.database, { action: HOLD_RELEASE, by, projectId, target: name, detail });
      return this.read(projectId);
    });
  }

  setCalls(
    projectId: string,
    calls_days: number | null,
    caller: Caller,
  ): Promise<RetentionAnswerDto> {
    return this.database.transaction(async () => {
      const { payload_days, feedback_days } = await this.read(projectId);
      return this.set({ project_id: projectId, calls_days, payload_days, feedback_days }, caller);
    });
  }

  async read(projectId: string): Promise<RetentionAnswerDto> {
    const policy = await this.database.repository(RetentionPolicy).findOneBy({ projectId });
    const isDefault = policy?.isDefault ?? true;
    const { calls, payloads, feedback } = this.config.retentionDefault ?? FOR_EVER;
    const days = isDefault
      ? { calls_days: calls, payload_days: payloads, feedback_days: feedback }
      : {
          calls_days: policy!.callsDays,
          payload_days: policy!.payloadDays,
          feedback_days: policy!.feedbackDays,
        };
    const held = await this.database
      .repository(LegalHold)
      .find({ where: { projectId }, order: { name: 'ASC' } });
    const holds = held.map(({ name, traceId, threadId, reason, userName, createdAt }) => ({
      name,
      trace_id: traceId,
      thread_id: threadId,
      reason,
      user: userName,
      created_at: createdAt,
    }));
    return { project_id: projectId, ...days, is_default: isDefault, holds };
  }
}

function assertOnePart({ traceId, threadId }: PartHold): void {
  const message = 'must not stand beside trace_id: a hold is of one trace or of one thread';
  if (traceId !== null && threadId !== null) throw invalidRequest([{ path: 'thread_id', message }]);
  if (threadId === '') throw invalidRequest([{ path: 'thread_id', message: 'must not be empty' }]);
}

function assertSamePart(known: PartHold, part: PartHold): void {
  if (known.traceId === part.traceId && known.threadId === part.threadId) return;
  const message = 'is the name of a hold of something else: use another one';
  throw invalidRequest([{ path: 'name', message }]);
}

const holdDetail = ({ traceId, threadId }: PartHold, reason: string | null) => ({
  ...(traceId !== null && { trace_id: traceId }),
  ...(threadId !== null && { thread_id: threadId }),
  ...(reason !== null && { reason }),
});
