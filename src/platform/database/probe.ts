import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { isTimeout } from '../errors.js';
import { newPool, type Pool } from '../pg/driver.js';
import { logger } from '../process/logger.js';
import { sql } from '../query/sql.js';
import { Database } from './database.js';
import { STATEMENT_MS } from './limits.js';
import { MIGRATIONS } from './migrate.js';
import { Schedule } from './schedule.js';
import type { SchemaSource } from './schema-state.js';

/** A database that does not answer within this time counts as unreachable. */
export const PROBE_TIMEOUT_MS = 2000;
const LOOK_EVERY_MS = 1000;
/**
 * Failed attempts in a row after which the database counts as lost. One may fail because this process was stopped. Two
 * take some 6 s.
 */
const LOST_AFTER = 2;
/** Time for which calls must be locked. Statements wait for 10 s at most, and a change of the schema takes less. */
const LOCKED_AFTER_MS = 5000;
/** Limit of short statements for a while after a failed attempt. Their connections may lead to a host that is gone. */
const SUSPECT_MS = 5000;
const SUSPECT_FOR_MS = 15_000;

/** Takes the lock of a write on the table of calls, and writes nothing. A cluster's workers are not asked. */
const ATTEMPT = `SET lock_timeout = '200ms'; EXPLAIN DELETE FROM calls WHERE false`;

interface LockHolder {
  process: number;
  application: string | null;
  is_migrating: boolean;
}

/** Selects the session that keeps writes of calls waiting. */
const holderQuery = () => sql<LockHolder>`
  SELECT l.pid AS process, a.application_name AS application, EXISTS (
    SELECT FROM pg_locks m WHERE m.locktype = 'advisory' AND m.granted AND m.objsubid = 1
      AND (m.classid::bigint << 32) | m.objid::bigint = ${MIGRATIONS.number}::bigint) AS is_migrating
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.relation = 'calls'::regclass
    AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  ORDER BY l.granted DESC, l.pid LIMIT 1`;

/**
 * Checks the health of the database on a connection outside the shared pool. Health checks need no key, and must
 * neither wait for requests nor delay them. The connection is opened on demand, and closed when it is idle or did not
 * answer.
 *
 * Every second it attempts a write. When the database does not answer and no other connection hears from it, the
 * `Outage` of the connections begins, until an attempt is answered. A lock that a migration holds is not reported.
 */
@Injectable()
export class Probe implements SchemaSource, OnApplicationShutdown {
  private readonly connection: Pool;
  private failures = 0;
  private missedAt = -Infinity;
  private lostAt = 0;
  private lockedAt: number | undefined;
  private looking: Promise<void> | undefined;
  private lastLooks: NodeJS.Timeout | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly database: Database,
    schedule: Schedule,
  ) {
    this.connection = newPool({
      ...database.pool.options,
      max: 1,
      query_timeout: PROBE_TIMEOUT_MS,
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    });
    this.connection.on('error', () => {}); // lost while idle; the next query opens another one
    schedule.every(LOOK_EVERY_MS, 'probe of the database', () => this.look());
    // A schedule that stops waits for its runs, whose statements may have lost their host.
    schedule.signal.addEventListener('abort', () => this.goOn());
  }

  get options(): SchemaSource['options'] {
    return this.dataSource.options;
  }

  async query<Rows>(text: string): Promise<Rows> {
    try {
      return (await this.connection.query(text)).rows as Rows;
    } catch (error) {
      if (!isAnswer(error as Error)) this.missedAt = performance.now();
      throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.lastLooks);
    await this.connection.end();
  }

  private goOn(): void {
    this.lastLooks = setInterval(() => void this.look().catch(() => {}), LOOK_EVERY_MS);
  }

  /** Only one attempt is under way: a second one would wait on the same connection, and count as missed. */
  private look(): Promise<void> {
    return (this.looking ??= this.lookNow().finally(() => (this.looking = undefined)));
  }

  private async lookNow(): Promise<void> {
    const { outage } = this.database;
    const isSuspect = performance.now() - this.missedAt < SUSPECT_FOR_MS;
    outage.cutSilent(isSuspect ? SUSPECT_MS : STATEMENT_MS.write);
    if (this.failures === 0) outage.hears();
    const error = await this.query(ATTEMPT).catch((refusal: Error) => refusal);
    if (error instanceof Error && !isAnswer(error)) return this.miss(error);
    this.failures = 0;
    if (outage.isUnderWay) {
      outage.isUnderWay = false;
      logger.warn(`the database answers again, after ${secondsSince(this.lostAt)} s`);
    }
    if (isTimeout(error)) await this.noteLock();
    else this.noteUnlocked();
  }

  private miss({ message }: Error): void {
    const { outage } = this.database;
    if (outage.isUnderWay) return;
    this.failures = outage.hears() ? 0 : this.failures + 1;
    if (this.failures < LOST_AFTER) return;
    this.lostAt = performance.now();
    outage.begin();
    logger.error({ why: message }, 'the database does not answer: requests get 503 until it does');
  }

  private async noteLock(): Promise<void> {
    const { outage } = this.database;
    this.lockedAt ??= performance.now();
    if (outage.isLocked || performance.now() - this.lockedAt < LOCKED_AFTER_MS) return;
    const { text, values } = holderQuery().toQuery();
    const [holder] = (await this.connection.query(text, values)).rows as LockHolder[];
    if (holder?.is_migrating) return;
    outage.isLocked = true;
    logger.error(
      { process: holder?.process, application: holder?.application },
      'another session has locked the table calls: writes of calls get 503 until it lets go',
    );
  }

  private noteUnlocked(): void {
    const { outage } = this.database;
    if (outage.isLocked) {
      outage.isLocked = false;
      logger.warn(`calls can be written again, after ${secondsSince(this.lockedAt!)} s`);
    }
    this.lockedAt = undefined;
  }
}

const secondsSince = (ms: number) => Math.round((performance.now() - ms) / 1000);

/** Returns true for a refusal by a server that serves others, such as one without a free connection. */
function isAnswer(error: Error): boolean {
  const { severity, code = '' } = error as { severity?: string; code?: string };
  return severity !== undefined && !code.startsWith('57P');
}
