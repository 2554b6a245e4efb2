import { Injectable } from '@nestjs/common';
import { commandText } from '../../platform/command-text.js';
import { Database } from '../../platform/database/database.js';
import { RetentionClock } from './retention-clock.entity.js';
import { type ClockLook, clockLook } from './retention.query.js';

const DAY_MS = 86_400_000;
/** Time for which retention waits after a jump: an operator who was away for a weekend can still set the clock. */
const WAIT_MS = 3 * DAY_MS;

/**
 * Compares the clock of the database, which can be set, with what it was at the last look. Retention counts in days, so
 * a clock that jumps ahead would erase data that must remain. A service that was stopped for a day or more cannot tell
 * this from a jump. The last look is stored, so that a restart does not hide a jump.
 */
@Injectable()
export class RetentionClockService {
  constructor(private readonly database: Database) {}

  /** Looks at the clock. Returns why retention must wait, or null when it may erase. */
  look(): Promise<string | null> {
    return this.database.transaction(async () => {
      const [seen] = await this.database.query(clockLook());
      const next = nextClock(seen!);
      await this.database.repository(RetentionClock).update({ isOnly: true }, next);
      return next.waitsUntil && waitingText(next.aheadMs, next.waitsUntil);
    });
  }
}

/** A jump ahead by a day or more begins a wait. The wait ends with its time, or when the clock was set back. */
export function nextClock({ now_ms, seen_ms, ahead_ms, waits_until_ms }: ClockLook) {
  const passed = now_ms - seen_ms;
  const isJump = passed >= DAY_MS;
  const aheadMs = ahead_ms + (isJump || passed < 0 ? passed : 0);
  const isOver = !isJump && waits_until_ms !== null && now_ms >= waits_until_ms;
  const seenAt = new Date(now_ms);
  if (aheadMs < DAY_MS || isOver) return { seenAt, aheadMs: 0, waitsUntil: null };
  const until = now_ms + WAIT_MS;
  const waitsUntil = new Date(isJump ? until : Math.min(until, waits_until_ms!));
  return { seenAt, aheadMs, waitsUntil };
}

const waitingText = (aheadMs: number, until: Date) =>
  `the clock of the database is ${(aheadMs / DAY_MS).toFixed(1)} days ahead of what retention has seen last: it was set, or the ` +
  `service was stopped for so long. Retention erases nothing until ${until.toISOString()}, or until the clock is set back. If the ` +
  `clock is right, run ${commandText('psql', '-c "DELETE FROM retention_clock"')} to go on now`;
