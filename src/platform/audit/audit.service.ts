import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import type { AuditQueryDto } from './audit.dto.js';
import { eventsQuery } from './audit.query.js';

/** Queries the audit log. `addEvent` adds events in the transaction of the change. */
@Injectable()
export class AuditService {
  constructor(private readonly database: Database) {}

  query(request: AuditQueryDto, scopes: readonly string[]): Promise<Readable> {
    return this.database.stream(eventsQuery(request, scopes));
  }
}
