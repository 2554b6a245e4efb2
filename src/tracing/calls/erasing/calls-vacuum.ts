import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { Schedule } from '../../../platform/database/schedule.js';
import type { RowCounts } from '../../../platform/erasing/erasings.query.js';
import { ROOM_IN_FILES, ROOM_TO_ERASE } from '../../../platform/erasing/pace.js';
import { ErasingsService } from '../../../platform/erasing/erasings.service.js';

/** Minimum number of erased calls for a VACUUM. Fewer calls free too little space. */
const MIN_CALLS = 10_000;
const LOOK_EVERY_MS = 2000;
/** Longest wait for the end of erasing on a nearly full disk, where nobody else can write until then. */
const MAX_WAIT_MS = 10_000;
/** Pause between the two runs, in which transactions end that may still read emptied pages. */
const REST_MS = 10_000;

const FIRST = [
  'SET statement_timeout = 0',
  'SELECT pg_current_xact_id()', // VACUUM sees time pass only through transactions that write
];
/** The pace of autovacuum, so that writers are slowed no more than by autovacuum. */
const AS_USUAL = [`SET vacuum_cost_delay = '2ms'`, 'SET vacuum_cost_limit = 2000', 'VACUUM calls'];
/**
 * Vacuums all tables with at most 16 MB/s. Checkpoints then have time to shorten the WAL
 * (`src/platform/postgres/disk-watch.ts`).
 */
const ON_FULL_DISK = [`SET vacuum_cost_delay = '5ms'`, 'SET vacuum_cost_limit = 200', 'VACUUM'];

/**
 * Runs VACUUM twice after this process has erased many calls. The first run empties pages of the indexes. The second
 * finds that no transaction can still read them, and makes them reusable. Autovacuum would run a second time only after
 * more rows are dead, and new calls would take new pages until then (`bench/index-room.mjs`).
 *
 * On a nearly full disk of the embedded database it runs after every erasing of any rows. It allows writes again, since
 * they fit into the freed space: some before the VACUUM, which takes a minute for 500 MB, and more after it.
 */
@Injectable()
export class CallsVacuum {
  private erased = 0;
  private erasedBefore = 0;
  /** Time of the first look that found erased rows. */
  private erasedSince = 0;
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

  /** Waits until the erasing has ended, because one VACUUM then suffices. Tries again after a failure. */
  private async look(): Promise<void> {
    const now = performance.now();
    if (this.erasedBefore === 0) this.erasedSince = now;
    const goesOn = this.erased !== this.erasedBefore;
    this.erasedBefore = this.erased;
    if (this.erased === 0 && this.runsLeft === 0) return;
    if (goesOn && now - this.erasedSince < MAX_WAIT_MS) return;
    const isNearlyFull = (await ROOM_TO_ERASE.ask()) === 'in steps';
    if (goesOn && !isNearlyFull) return;
    if (this.calls >= MIN_CALLS || (isNearlyFull && this.erased > 0)) {
      this.calls = this.erased = this.erasedBefore = 0;
      this.runsLeft = 2;
    }
    if (this.runsLeft > 0) await this.vacuum(isNearlyFull);
  }

  private async vacuum(isNearlyFull: boolean): Promise<void> {
    if (performance.now() < this.notBefore) return;
    try {
      if (isNearlyFull) await ROOM_IN_FILES.ask();
      await this.database.session(async ({ run }) => {
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
