import { Injectable } from '@nestjs/common';
import { eventInsert, auditAction } from '../../platform/audit/audit.query.js';
import type { Caller } from '../../platform/auth/caller.js';
import { Database } from '../../platform/database/database.js';
import type { RetentionAnswerDto, RetentionDto } from './retention.dto.js';
import { RetentionPolicy } from './retention-policy.entity.js';
import { policySet } from './retention.query.js';

const RETENTION_SET = auditAction('retention.set');

/** How long projects keep what. */
@Injectable()
export class RetentionService {
  constructor(private readonly database: Database) {}

  set(body: RetentionDto, caller: Caller): Promise<RetentionAnswerDto> {
    const { project_id, calls_days = null, payload_days = null } = body;
    const policy = { project_id, calls_days, payload_days };
    return this.database.transaction(async () => {
      await this.database.query(policySet(policy));
      const detail = { calls_days, payload_days };
      await this.database.query(
        eventInsert({ action: RETENTION_SET, by: caller, projectId: project_id, detail }),
      );
      return policy;
    });
  }

  async read(projectId: string): Promise<RetentionAnswerDto> {
    const policy = await this.database.repository(RetentionPolicy).findOneBy({ projectId });
    const { callsDays = null, payloadDays = null } = policy ?? {};
    return { project_id: projectId, calls_days: callsDays, payload_days: payloadDays };
  }
}
