import { Injectable } from '@nestjs/common';
import { isConnectionError, toApiError } from '../../../platform/errors.js';
import { logger } from '../../../platform/process/logger.js';
import { oneLock, trySessionLock } from '../../../platform/database/advisory-locks.js';
import { type DedicatedConnection, Database } from '../../../platform/database/database.js';
import { Schedule } from '../../../platform/database/schedule.js';
import {
  createStatement,
  differenceQuery,
  dropStatement,
  indexFailed,
  type IndexDefinition,
} from './call-indexes.query.js';

/** Held by the one replica that makes and drops indexes on fields. */
const KEEPER = oneLock(156_888_772);

const LOOK_EVERY_MS = 30_000;
/** PostgreSQL lets the owner of a database create this extension. */
const TRIGRAMS = 'CREATE EXTENSION IF NOT EXISTS pg_trgm';

/**
 * Makes the requested indexes and drops all others, one at a time in a database, without blocking reads and writes. It
 * compares the table `call_indexes` with PostgreSQL's catalogue. So leftovers of a killed process, a restored backup or
 * an erased project do no harm.
 */
@Injectable()
export class CallIndexesKeeper {
  /** Starts a run in the background. */
  readonly look: () => void;

  constructor(
    private readonly database: Database,
    private readonly schedule: Schedule,
  ) {
    this.look = schedule.every(LOOK_EVERY_MS, 'indexes of calls', () => this.work(), {
      isEager: true,
    });
  }

  private async work(): Promise<void> {
    const [difference] = await this.database.query(differenceQuery());
    if (difference)
      await this.database.session((session) => this.settle(session), this.schedule.signal);
  }

  private async settle({ query, run }: DedicatedConnection): Promise<void> {
    // Does not wait for the lock: CREATE INDEX CONCURRENTLY would wait for the waiting transaction.
    const [row] = await query(trySessionLock(KEEPER));
    if (!row!.is_mine) return;
    await run('SET statement_timeout = 0');
    await run('SET lock_timeout = 0');
    for (;;) {
      const [difference] = await query(differenceQuery());
      if (!difference) return;
      const { name, is_there, wanted } = difference;
      if (is_there) await run(dropStatement(name));
      if (wanted) await this.make(wanted, { query, run });
    }
  }

  private async make(wanted: IndexDefinition, { query, run }: DedicatedConnection): Promise<void> {
    const { project_id, field } = wanted;
    const started = performance.now();
    try {
      if (wanted.kind === 'substring') await run(TRIGRAMS);
      const [made] = await query(createStatement(wanted));
      await run(made!.statement);
      const duration_ms = Math.round(performance.now() - started);
      logger.info({ project_id, field, duration_ms }, 'an index was made');
    } catch (error) {
      if (isConnectionError(error)) throw error;
      logger.warn({ project_id, field, err: error }, 'an index could not be made');
      await run(dropStatement(wanted.name));
      await query(indexFailed(wanted, failureReason(error, wanted)));
    }
  }
}

function failureReason(error: unknown, { kind }: IndexDefinition): string {
  const { status, message } = toApiError(error);
  if (status === 503) return message;
  const code = String((error as { code?: unknown }).code);
  return kind === 'substring' && NO_EXTENSION.includes(code)
    ? 'the database has no extension pg_trgm, and the service may not create it: CREATE EXTENSION pg_trgm'
    : `PostgreSQL refused it with the state ${code}`;
}
/** SQLSTATEs: extension not installed, not allowed, not supported. */
const NO_EXTENSION = ['58P01', '42501', '0A000'];
