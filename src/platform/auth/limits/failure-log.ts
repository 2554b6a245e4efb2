import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { addEventAlone, auditAction } from '../../audit/add-event.js';
import { Database } from '../../database/database.js';
import { Schedule } from '../../database/schedule.js';

const AUTH_FAIL = auditAction('auth.fail');

const EVERY_MS = 60_000;
/** Most addresses that one event names. The others are only counted. */
const MAX_ADDRESSES = 20;

/**
 * Adds refused credentials to the audit log: one event a minute and process, whatever their number, so that nobody
 * without a key can fill the disk. A killed process loses the counts since its last event.
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

  /** Writes the last event before the connection pool is closed. */
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
