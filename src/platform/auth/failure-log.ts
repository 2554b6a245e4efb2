import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { addEventAlone, auditAction } from '../audit/add-event.js';
import { Database } from '../database/database.js';
import { Schedule } from '../database/schedule.js';

const AUTH_FAIL = auditAction('auth.fail');

const EVERY_MS = 60_000;
/** An event names so many addresses, and counts the rest. */
const MAX_ADDRESSES = 20;

/**
 * Tells the audit of credentials that were refused: one event a minute for each process, however many there were, so that nobody
 * without a key can fill the disk. What a killed process had not told yet is lost.
 */
@Injectable()
export class FailureLog implements BeforeApplicationShutdown {
  private attempts = 0;
  private addresses = new Map<string, number>();

  constructor(
    private readonly database: Database,
    schedule: Schedule,
  ) {
    schedule.every(EVERY_MS, 'failed authentications', () => this.tell());
  }

  note(address: string): void {
    this.attempts++;
    const known = this.addresses.get(address);
    if (known !== undefined || this.addresses.size < MAX_ADDRESSES)
      this.addresses.set(address, (known ?? 0) + 1);
  }

  /** Before the pool is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.tell().catch(() => {});
  }

  private async tell(): Promise<void> {
    const { attempts, addresses } = this;
    if (attempts === 0) return;
    this.attempts = 0;
    this.addresses = new Map();
    const detail = { attempts, addresses: Object.fromEntries(addresses) };
    const by = { keyId: null, userName: 'without a key' };
    try {
      await addEventAlone(this.database, { action: AUTH_FAIL, by, detail });
    } catch (error) {
      this.attempts += attempts;
      for (const [address, count] of addresses)
        this.addresses.set(address, count + (this.addresses.get(address) ?? 0));
      throw error;
    }
  }
}
