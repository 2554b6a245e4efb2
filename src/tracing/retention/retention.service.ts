import { Injectable } from '@nestjs/common';
import { addEvent, auditAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { Database } from '../../platform/database/database.js';
import type { RetentionAnswerDto, RetentionDto } from './retention.dto.js';
import { RetentionPolicy } from './retention-policy.entity.js';

const RETENTION_SET = auditAction('retention.set');

@Injectable()
export class RetentionService {
  constructor(private readonly database: Database) {}

  set(body: RetentionDto, caller: Caller): Promise<RetentionAnswerDto> {
    const { project_id: projectId, calls_days = null, payload_days = null } = body;
    const detail = { calls_days, payload_days };
    const policy = { projectId, callsDays: calls_days, payloadDays: payload_days };
    const replaced = ['calls_days', 'payload_days', 'payload_cursor', 'walk_started_at'];
    return this.database.transaction(async () => {
      const insert = this.database.repository(RetentionPolicy).createQueryBuilder().insert();
      await insert.values(policy).orUpdate(replaced, ['project_id']).execute();
      await addEvent(this.database, {
        action: RETENTION_SET,
        by: caller,
        projectId,
        detail,
      });
      return { project_id: projectId, ...detail };
    });
  }

  setCalls(
    projectId: string,
    calls_days: number | null,
    caller: Caller,
  ): Promise<RetentionAnswerDto> {
    return this.database.transaction(async () => {
      const { payload_days } = await this.read(projectId);
      return this.set({ project_id: projectId, calls_days, payload_days }, caller);
    });
  }

  async read(projectId: string): Promise<RetentionAnswerDto> {
    const policy = await this.database.repository(RetentionPolicy).findOneBy({ projectId });
    const { callsDays = null, payloadDays = null } = policy ?? {};
    return { project_id: projectId, calls_days: callsDays, payload_days: payloadDays };
  }
}
