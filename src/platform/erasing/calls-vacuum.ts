import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import { Schedule } from '../database/schedule.js';

/** Fewer erased calls leave too little room for a VACUUM of their own. */
const MIN_CALLS = 10_000;
const LOOK_EVERY_MS = 5000;
/** Between the two, so that transactions which may still look at emptied pages have ended. */
const REST_MS = 10_000;

/** The pace of autovacuum, so that it slows writers no more than that. */
const STATEMENTS = [
  'SET statement_timeout = 0',
  `SET vacuum_cost_delay = '2ms'`,
  'SET vacuum_cost_limit = 2000',
  'SELECT pg_current_xact_id()', // time passes for VACUUM only by transactions that write
  'VACUUM calls',
];

/**
 * Runs VACUUM twice once this process has erased many calls. The first empties pages of the indexes; the second finds
 * that nobody can still look at them, and gives them out again. Autovacuum would come a second time only when there is more
 * to clean, and new calls would take new pages meanwhile (`bench/index-room.mjs`).
 */
@Injectable()
export class CallsVacuum {
  private erased = 0;
  private erasedBefore = 0;
  private runsLeft = 0;
  private notBefore = 0;

  constructor(
    private readonly database: Database,
    private readonly schedule: Schedule,
  ) {
    schedule.every(LOOK_EVERY_MS, 'vacuum of calls', () => this.look());
  }

  noteErased(calls: number): void {
    this.erased += calls;
  }

  /** Waits for the end of the erasing, because one VACUUM suffices. A failed one is tried again. */
  private async look(): Promise<void> {
    const goesOn = this.erased !== this.erasedBefore;
    this.erasedBefore = this.erased;
    if (goesOn) return;
    if (this.erased >= MIN_CALLS) {
      this.erased = this.erasedBefore = 0;
      this.runsLeft = 2;
    }
    if (this.runsLeft === 0 || performance.now() < this.notBefore) return;
    try {
      await this.database.aside(async ({ run }) => {
        for (const statement of STATEMENTS) await run(statement);
      }, this.schedule.signal);
      this.runsLeft--;
    } finally {
      this.notBefore = performance.now() + REST_MS;
    }
  }
}
