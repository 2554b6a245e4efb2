import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { v7 as uuidv7 } from 'uuid';
import { type Actor, addEvent, auditAction } from '../audit/add-event.js';
import { KeyUses } from '../audit/key-uses.js';
import { CONFIG, type Config } from '../config/config.js';
import { lock } from '../database/advisory-locks.js';
import { Database } from '../database/database.js';
import { ApiError } from '../errors.js';
import { entityOf } from '../process/fair-queue.js';
import { ApiKey, type Role } from './api-key.entity.js';
import { Caller } from './caller.js';
import { FailedAttempts } from './failed-attempts.js';
import {
  keyRevoke,
  keysBySecrets,
  keysBySessions,
  KEYS_OF_ENTITY,
  keysMakeRoom,
  keysWithin,
} from './keys.query.js';
import { hashOf, hintOf, isSecret, newSecret } from './secret.js';
import { isSessionToken } from './session-cookie.js';

const KEYS_CREATE = auditAction('keys.create');
const KEYS_REVOKE = auditAction('keys.revoke');

/** How long a key stays cached, and then a connection for as long again: together less than the 5 s of a revocation. */
const CACHE_MS = 2000;
const CACHED_KEYS = 10_000;
/** How long the cache goes by one reading of the clock: each reading sets a timer, which a busy server would notice. */
const CLOCK_MS = 100;

/** What is needed to make a key. */
export interface NewKey {
  userName: string;
  role: Role;
  scopes: string[];
  expiresAt?: Date | null;
}

/** Where a secret came from, and the challenge of the scheme it came by. */
interface From {
  address: string;
  challenge: string;
}

/** Marks the names of sessions in the cache; in base64 no hash begins so. */
const SESSION = 'session ';

/** The last header of a connection, and its caller. */
interface Known {
  header: string;
  caller: Caller;
  until: number;
}

/**
 * Issues, lists, revokes and verifies API keys. Verification keeps a key it read for `CACHE_MS`, so that it costs at
 * most one look-up a key and process in that time; concurrent look-ups of one key share it. A connection that sends
 * the same header again is taken for the same caller for as long, so that not every request takes the header apart. An
 * unknown secret is not kept: guesses must not push out good keys.
 */
@Injectable()
export class KeysService {
  private readonly cache = new LRUCache<string, ApiKey, string | undefined>({
    max: CACHED_KEYS,
    ttl: CACHE_MS,
    ttlResolution: CLOCK_MS,
    noDeleteOnStaleGet: true,
    // A revocation clears the cache: a look-up under way still answers its callers, and is not cached.
    ignoreFetchAbort: true,
    // A secret that was a key a while ago is no guess, whatever the address it comes from has tried.
    fetchMethod: (name, stale, { context: address }) =>
      stale || address === undefined
        ? this.findBySecret(name)
        : this.attempts.find(name, address, (names) => this.findBySecrets(names)),
  });

  private known = new WeakMap<Socket, Known>();

  constructor(
    private readonly database: Database,
    private readonly attempts: FailedAttempts,
    private readonly uses: KeyUses,
    @Inject(CONFIG) private readonly config: Pick<Config, 'maxKeysPerEntity'>,
  ) {}

  /** The caller of a request with this header on the connection. What `authenticate` finds is kept with the connection. */
  async callerOn(
    socket: Socket,
    header: string,
    authenticate: () => Promise<Caller | undefined>,
  ): Promise<Caller | undefined> {
    const known = this.known.get(socket);
    if (known?.header === header && known.until > performance.now() && !known.caller.isExpired())
      return known.caller;
    const caller = await authenticate();
    if (!caller) return undefined;
    this.known.set(socket, { header, caller, until: performance.now() + CACHE_MS });
    this.uses.note(caller);
    return caller;
  }

  /**
   * Null for a secret that is no valid key. The caller is not told why.
   * @throws ApiError `rate_limited` when the address has failed too often.
   */
  async verify(secret: string, from: From): Promise<Caller | null> {
    return this.callerWith(secret, isSecret(secret), '', from);
  }

  /** The same for the token of a session, which ends with its key. */
  async verifySession(token: string, from: From): Promise<Caller | null> {
    return this.callerWith(token, isSessionToken(token), SESSION, from);
  }

  private async callerWith(
    secret: string,
    isWellFormed: boolean,
    kind: string,
    { address, challenge }: From,
  ): Promise<Caller | null> {
    if (!isWellFormed) {
      await this.attempts.count(address);
      return null;
    }
    const secretHash = hashOf(secret);
    const name = kind + secretHash.toString('base64');
    const key = await this.cache.fetch(name, { context: address });
    if (!key || !timingSafeEqual(key.secretHash, secretHash)) return null;
    if (!isActive(key)) {
      await this.attempts.count(address);
      return null;
    }
    return new Caller(key, { challenge, isActive: () => this.isStillActive(name) });
  }

  /**
   * A transaction looks up by itself, on the connection it has: if it waited for a look-up that waits for a connection,
   * transactions that hold all connections would wait for each other. It leaves the cache to the look-ups of others.
   */
  private async isStillActive(name: string): Promise<boolean> {
    const key =
      this.cache.get(name) ??
      (await (this.database.inTransaction
        ? this.findBySecret(name)
        : this.cache.fetch(name, { context: undefined })));
    return key !== undefined && isActive(key);
  }

  private async findBySecret(name: string): Promise<ApiKey | undefined> {
    return (await this.findBySecrets([name])).get(name);
  }

  /** By their names in the cache. */
  private async findBySecrets(names: string[]): Promise<Map<string, ApiKey>> {
    const found = new Map<string, ApiKey>();
    const isSession = (name: string) => name.startsWith(SESSION);
    const find = async (of: string[], kind: string, query: typeof keysBySecrets) => {
      if (of.length === 0) return;
      const hashes = of.map((name) => Buffer.from(name.slice(kind.length), 'base64'));
      for (const key of await this.database.query(query(hashes)))
        found.set(kind + key.secretHash.toString('base64'), key);
    };
    await find(
      names.filter((name) => !isSession(name)),
      '',
      keysBySecrets,
    );
    await find(names.filter(isSession), SESSION, keysBySessions);
    return found;
  }

  /** The answer holds the secret, which is stored nowhere. */
  async create(
    { userName, role, scopes, expiresAt = null }: NewKey,
    by: Actor,
    secret = newSecret(),
  ): Promise<{ id: string; secret: string }> {
    const id = uuidv7();
    const [secretHash, hint] = [hashOf(secret), hintOf(secret)];
    const entity = entityOf(scopes[0]!);
    const detail = { user: userName, role, scopes, expires_at: expiresAt };
    await this.database.transaction(async () => {
      if (entity !== '*') await this.assertRoom(entity);
      const key = { id, userName, role, scopes, expiresAt, secretHash, hint };
      await this.database.repository(ApiKey).insert(key);
      await addEvent(this.database, { action: KEYS_CREATE, by, target: id, scopes, detail });
    });
    return { id, secret };
  }

  /** In the transaction that makes the key. An entity's keys that have ended make room. */
  private async assertRoom(entity: string): Promise<void> {
    const limit = this.config.maxKeysPerEntity;
    await this.database.query(lock(KEYS_OF_ENTITY, entity));
    const [keys] = await this.database.query(keysMakeRoom(entity, limit));
    if (keys!.count >= limit)
      throw new ApiError(
        'too_large',
        `scopes: ${entity} has ${keys!.count} keys, and MAX_KEYS_PER_ENTITY is ${limit}; revoke one first`,
      );
  }

  /** Keys that reach no further than these scopes, the oldest first. */
  within(scopes: readonly string[], after: string | null, limit: number): Promise<ApiKey[]> {
    return this.database.query(keysWithin(scopes, after, limit));
  }

  list(): Promise<ApiKey[]> {
    return this.database.repository(ApiKey).find({ order: { id: 'ASC' } });
  }

  /** False when there is no such key, or it was revoked before. */
  async revoke(id: string, by: Actor): Promise<boolean> {
    const revoke = async () => {
      const [revoked] = await this.database.query(keyRevoke(id));
      if (!revoked) return false;
      const { scopes } = revoked;
      await addEvent(this.database, { action: KEYS_REVOKE, by, target: id, scopes });
      return true;
    };
    const isRevoked = await this.database.urgently(() => this.database.transaction(revoke));
    this.forget();
    return isRevoked;
  }

  /** From now on this process asks the database again. */
  forget(): void {
    this.cache.clear();
    this.known = new WeakMap();
  }

  find(id: string): Promise<ApiKey | null> {
    return this.database.repository(ApiKey).findOneBy({ id });
  }

  hasAny(): Promise<boolean> {
    return this.database.repository(ApiKey).exists();
  }
}

const isActive = ({ revokedAt, expiresAt }: ApiKey) =>
  !revokedAt && (!expiresAt || expiresAt.getTime() > Date.now());
