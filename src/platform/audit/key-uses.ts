import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database } from '../database/database.js';
import { type Actor, auditAction, addKeyUse } from './add-event.js';

const KEYS_USE = auditAction('keys.use');

const MAX_KEYS = 10_000;

/**
 * Records the first use of a key on a day (UTC). A process asks the database once a key and day; the event is written
 * beside the request, which neither waits for it nor fails with it, so that reads work where writes do not.
 */
@Injectable()
export class KeyUses {
  private readonly logger = new Logger('audit');
  /** The day that a key was last noted on, by its id. */
  private readonly days = new LRUCache<string, string>({ max: MAX_KEYS });

  constructor(private readonly database: Database) {}

  /** A person without a key has signed in, which was recorded then. */
  note(key: Actor & { keyId: string; scopes: readonly string[] }): void {
    if (key.keyId === key.userId) return;
    const day = new Date().toISOString().slice(0, '2026-01-31'.length);
    if (this.days.get(key.keyId) === day) return;
    this.days.set(key.keyId, day);
    const event = { action: KEYS_USE, by: key, target: key.keyId, scopes: key.scopes };
    const insert = () => addKeyUse(this.database, event);
    const inserted = this.database.urgently(() => this.database.transaction(insert));
    inserted.catch((error: unknown) => {
      this.days.delete(key.keyId); // tried again with its next connection
      this.logger.warn(error);
    });
  }
}
