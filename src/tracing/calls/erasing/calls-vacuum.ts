import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { Schedule } from '../../../platform/database/schedule.js';
import type { RowCounts } from '../../../platform/erasing/erasings.query.js';
import { ROOM_IN_FILES, ROOM_TO_ERASE } from '../../../platform/erasing/pace.js';
import { ErasingsService } from '../../../platform/erasing/erasings.service.js';

/** Fewer erased calls leave too little room for a VACUUM of their own. */
const MIN_CALLS = 10_000;
const LOOK_EVERY_MS = 2000;
/** Between the two, so that transactions which may still look at emptied pages have ended. */
const REST_MS = 10_000;

const FIRST = [
  'SET statement_timeout = 0',
  'SELECT pg_current_xact_id()', // time passes for VACUUM only by transactions that write
];
/** The pace of autovacuum, so that it slows writers no more than that. */
const AS_USUAL = [`SET vacuum_cost_delay = '2ms'`, 'SET vacuum_cost_limit = 2000', 'VACUUM calls'];
/** Of all tables, at most 16 MB/s, which leaves the checkpoints time to shorten the log (`src/platform/postgres/disk-watch.ts`). */
const ON_FULL_DISK = [`SET vacuum_cost_delay = '5ms'`, 'SET vacuum_cost_limit = 200', 'VACUUM'];

/**
 * Runs VACUUM twice once this process has erased many calls. The first empties pages of the indexes; the second finds
 * that nobody can still look at them, and gives them out again. Autovacuum would come a second time only when there is more
 * to clean, and new calls would take new pages meanwhile (`bench/index-room.mjs`).
 *
 * On a nearly full disk of the embedded database it does so after every erasing, whatever was erased, and then has writes
 * taken again: they fit into the room of what was erased.
 */
@Injectable()
export class CallsVacuum {
  private erased = 0;
  private erasedBefore = 0;
  private calls = 0;
  private runsLeft = 0;
  private notBefore = 0;

  constructor(
    private readonly database: Database,
    private readonly schedule: Schedule,
    erasings: ErasingsService,
  ) {
    erasings.onErased((counts) => this.noteErased(counts));
    schedule.every(LOOK_EVERY_MS, 'vacuum of calls', () => this.look());
  }

  private noteErased(counts: RowCounts): void {
    this.calls += counts['calls'] ?? 0;
    for (const rows of Object.values(counts)) this.erased += rows;
  }

  /** Waits for the end of the erasing, because one VACUUM suffices. A failed one is tried again. */
  private async look(): Promise<void> {
    const goesOn = this.erased !== this.erasedBefore;
    this.erasedBefore = this.erased;
    if (goesOn || (this.erased === 0 && this.runsLeft === 0)) return;
    const isNearlyFull = (await ROOM_TO_ERASE.ask()) === 'in steps';
    if (this.calls >= MIN_CALLS || (isNearlyFull && this.erased > 0)) {
      this.calls = this.erased = this.erasedBefore = 0;
      this.runsLeft = 2;
    }
    if (this.runsLeft === 0 || performance.now() < this.notBefore) return;
    try {
      await this.database.aside(async ({ run }) => {
        for (const statement of [...FIRST, ...(isNearlyFull ? ON_FULL_DISK : AS_USUAL)])
          await run(statement);
      }, this.schedule.signal);
      this.runsLeft--;
      if (isNearlyFull) await ROOM_IN_FILES.ask();
    } finally {
      this.notBefore = performance.now() + REST_MS;
    }
  }
}
