import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database } from '../database/database.js';
import { type Actor, auditAction, addKeyUse } from './add-event.js';

const KEYS_USE = auditAction('keys.use');

const MAX_KEYS = 10_000;

/**
 * Records the first use of a key on a day (UTC). A process writes at most once per key and day. The request neither
 * waits for the event nor fails with it, so reads work while writes are refused.
 */
@Injectable()
export class KeyUses {
  private readonly logger = new Logger('audit');
  /** Last day on which a key was noted, keyed by key id. */
  private readonly days = new LRUCache<string, string>({ max: MAX_KEYS });

  constructor(private readonly database: Database) {}

  /** Notes the use of a key. A person without a key is skipped, because their sign-in was recorded. */
  note(key: Actor & { keyId: string; scopes: readonly string[] }): void {
    if (key.keyId === key.userId) return;
    const day = new Date().toISOString().slice(0, '2026-01-31'.length);
    if (this.days.get(key.keyId) === day) return;
    this.days.set(key.keyId, day);
    const event = { action: KEYS_USE, by: key, target: key.keyId, scopes: key.scopes };
    const insert = () => addKeyUse(this.database, event);
    const inserted = this.database.transaction({ isUrgent: true }, insert);
    inserted.catch((error: unknown) => {
      this.days.delete(key.keyId); // retried with the key's next connection
      this.logger.warn(error);
    });
  }
}
