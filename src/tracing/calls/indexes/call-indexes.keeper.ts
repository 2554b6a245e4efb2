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

/** One replica makes and drops indexes on fields. */
const KEEPER = oneLock(156_888_772);

const LOOK_EVERY_MS = 30_000;
/** PostgreSQL trusts the owner of a database with it. */
const TRIGRAMS = 'CREATE EXTENSION IF NOT EXISTS pg_trgm';

/**
 * Makes the indexes that are wanted and drops the others, one at a time in a database, without blocking reads and
 * writes. It compares the table with PostgreSQL's catalogue, so leftovers of a killed process, a restored backup or an
 * erased project do not matter.
 */
@Injectable()
export class CallIndexesKeeper {
  /** Begins to look for something to do, in the background. */
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
      await this.database.aside((session) => this.settle(session), this.schedule.signal);
  }

  private async settle({ query, run }: DedicatedConnection): Promise<void> {
    // A transaction that waits for the lock would hold up the index.
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
/** Not installed, not allowed, not supported. */
const NO_EXTENSION = ['58P01', '42501', '0A000'];
