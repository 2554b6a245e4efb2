import { Inject, Injectable } from '@nestjs/common';
import { addEvent, auditAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { LegalHold } from '../../platform/audit/legal-hold.entity.js';
import { stopErasing } from '../../platform/audit/legal-holds.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { ApiError } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import type { LegalHoldDto, RetentionAnswerDto, RetentionDto } from './retention.dto.js';
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

  hold({ project_id: projectId, name }: LegalHoldDto, by: Caller): Promise<RetentionAnswerDto> {
    return this.database.transaction(async () => {
      await this.database.query(stopErasing(projectId));
      const holds = this.database.repository(LegalHold);
      if (await holds.existsBy({ projectId, name })) return this.read(projectId);
      if ((await holds.countBy({ projectId })) >= MAX_HOLDS)
        throw new ApiError('too_large', `a project has at most ${MAX_HOLDS} legal holds`);
      await holds.insert({ projectId, name, userName: by.userName });
      await addEvent(this.database, { action: HOLD_SET, by, projectId, target: name });
      return this.read(projectId);
    });
  }

  release({ project_id: projectId, name }: LegalHoldDto, by: Caller): Promise<RetentionAnswerDto> {
    return this.database.transaction(async () => {
      const { affected } = await this.database.repository(LegalHold).delete({ projectId, name });
      if (!affected) throw new ApiError('not_found', 'the project has no legal hold of this name');
      await addEvent(this.database, { action: HOLD_RELEASE, by, projectId, target: name });
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
    const holds = held.map(({ name, userName, createdAt }) => ({
      name,
      user: userName,
      created_at: createdAt,
    }));
    return { project_id: projectId, ...days, is_default: isDefault, holds };
  }
}
