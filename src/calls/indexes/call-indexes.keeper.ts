import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { isConnectionError, toApiError } from '../../common/errors.js';
import { type Aside, Database } from '../../database/database.js';
import {
  createStatement,
  type Difference,
  differenceQuery,
  dropStatement,
  indexFailed,
  keeperLock,
  type WantedIndex,
} from './call-indexes.query.js';

const LOOK_EVERY_MS = 30_000;
/** PostgreSQL trusts the owner of a database with it. */
const TRIGRAMS = 'CREATE EXTENSION IF NOT EXISTS pg_trgm';

/**
 * Makes the indexes that are wanted, and drops those that are not, one at a time in a database, beside all reads and
 * writes. It compares what the table says with what PostgreSQL has, so it does not matter who left what behind: a process
 * that was killed, a backup that was restored, a project that was erased.
 */
@Injectable()
export class CallIndexesKeeper implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('indexes');
  private readonly stop = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | null = null;
  private isAsked = false;

  constructor(private readonly database: Database) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS).unref();
    this.look();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    this.stop.abort();
    await this.running;
  }

  /** Begins to look for something to do, in the background. */
  look(): void {
    this.isAsked = true;
    this.running ??= this.work().finally(() => (this.running = null));
  }

  /** What fails is tried again at the next look. */
  private async work(): Promise<void> {
    while (this.isAsked && !this.stop.signal.aborted) {
      this.isAsked = false;
      try {
        const [difference] = await this.database.query(differenceQuery());
        if (difference)
          await this.database.aside((session) => this.settle(session), this.stop.signal);
      } catch (error) {
        if (!this.stop.signal.aborted)
          this.logger.warn(`indexes could not be looked after: ${(error as Error).message}`);
      }
    }
  }

  private async settle({ query, run }: Aside): Promise<void> {
    const [lock] = await query<{ is_mine: boolean }>(keeperLock());
    if (!lock!.is_mine) return;
    await run('SET statement_timeout = 0');
    await run('SET lock_timeout = 0');
    for (;;) {
      const [difference] = await query<Difference & Record<string, unknown>>(differenceQuery());
      if (!difference) return;
      const { name, is_there, wanted } = difference;
      if (is_there) await run(dropStatement(name));
      if (wanted) await this.make(wanted, { query, run });
    }
  }

  private async make(wanted: WantedIndex, { query, run }: Aside): Promise<void> {
    const { project_id, field } = wanted;
    const started = performance.now();
    try {
      if (wanted.kind === 'substring') await run(TRIGRAMS);
      const [made] = await query<{ statement: string }>(createStatement(wanted));
      await run(made!.statement);
      const duration_ms = Math.round(performance.now() - started);
      this.logger.log({ project_id, field, duration_ms }, 'an index was made');
    } catch (error) {
      if (isConnectionError(error)) throw error;
      this.logger.warn({ project_id, field, err: error }, 'an index could not be made');
      await run(dropStatement(wanted.name));
      await query(indexFailed(wanted, reasonOf(error, wanted)));
    }
  }
}

function reasonOf(error: unknown, { kind }: WantedIndex): string {
  const { status, message } = toApiError(error);
  if (status === 503) return message;
  const code = String((error as { code?: unknown }).code);
  return kind === 'substring' && NO_EXTENSION.includes(code)
    ? 'the database has no extension pg_trgm, and the service may not create it: CREATE EXTENSION pg_trgm'
    : `PostgreSQL refused it with the state ${code}`;
}
/** Not installed, not allowed, not supported. */
const NO_EXTENSION = ['58P01', '42501', '0A000'];
