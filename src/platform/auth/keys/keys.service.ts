import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { MoreThan } from 'typeorm';
import { NIL, v7 as uuidv7 } from 'uuid';
import { type Actor, addEvent, auditAction } from '../../audit/add-event.js';
import { KeyUses } from '../../audit/key-uses.js';
import { CONFIG, type Config } from '../../config/config.js';
import { lock } from '../../database/advisory-locks.js';
import { Database } from '../../database/database.js';
import { ByteRows } from '../../database/row-stream.js';
import { ApiError } from '../../errors.js';
import { ownerEntity } from '../../process/fair-queue.js';
import type { Role } from '../../roles.js';
import { ApiKey } from './api-key.entity.js';
import { Caller, type CredentialHolder } from '../caller.js';
import { FailedAttempts } from '../limits/failed-attempts.js';
import { type Grant, grantsTo, intersectGrants, personName } from '../grants.js';
import type { KeyDto } from './keys.dto.js';
import {
  type FoundCredential,
  keyRevoke,
  keyShown,
  keysBySecrets,
  keysBySessions,
  KEYS_OF_ENTITY,
  keysMakeRoom,
  personalKeys,
  keysWithin,
} from './keys.query.js';
import { hashSecret, secretHint, isSecret, newSecret, sentSecret } from './secret.js';
import { isSessionToken, sessionCookie } from '../sessions/session-cookie.js';

const KEYS_CREATE = auditAction('keys.create');
const KEYS_REVOKE = auditAction('keys.revoke');

/** How long a key is cached, and then a connection's caller again. Together they stay below the 5 s of a revocation. */
const CACHE_MS = 2000;
const CACHED_KEYS = 10_000;
/**
 * How long the cache reuses one reading of the clock. Each reading sets a timer, which costs a busy server measurably.
 */
const CLOCK_MS = 100;

/** Rows of the first batch of a list: a key has up to 9 KiB. */
const FIRST_KEYS = 50;

export interface NewKey {
  userName: string;
  role: Role;
  scopes: string[];
  expiresAt?: Date | null;
  userId?: string | null;
}

/** Most valid keys of one person. Without this limit a reader could use up the keys of an entity. */
const MAX_PERSONAL_KEYS = 50;

/** The address that sent a secret, and the challenge of the scheme that carried it. */
interface SecretOrigin {
  address: string;
  challenge: string;
}

/** Prefix of sessions in the cache. No hash in base64 begins with it. */
const SESSION = 'session ';
/** The statement that looks up secrets of each kind, after the prefix of the kind in the cache. */
const LOOKUPS = [
  ['', keysBySecrets],
  [SESSION, keysBySessions],
] as const;

/** A credential as it was sent, and the guard that accepts it. */
interface SentCredential {
  guard: string;
  sent: string;
}

interface ConnectionCaller extends SentCredential {
  caller: Caller;
  until: number;
}

/** A cached credential: its owner, and its grants. Without grants it allows nothing. */
interface CachedCredential {
  holder: CredentialHolder;
  secretHash: Buffer;
  revokedAt: Date | null;
}

/**
 * Issues, lists, revokes and verifies API keys. A verified key is cached for `CACHE_MS`, so it costs at most one
 * look-up per process in that time. Concurrent look-ups of one key share one statement. A connection that sends the
 * same header again keeps its caller for the same time, so that not every request parses the header. An unknown secret
 * is not cached: guesses must not evict valid keys.
 */
@Injectable()
export class KeysService {
  private readonly cache = new LRUCache<string, CachedCredential, string | undefined>({
    max: CACHED_KEYS,
    ttl: CACHE_MS,
    ttlResolution: CLOCK_MS,
    noDeleteOnStaleGet: true,
    // A revocation clears the cache: a running look-up still answers its callers, and is not cached.
    ignoreFetchAbort: true,
    // A secret that was a key a short time ago is no guess, whatever its address has tried.
    fetchMethod: (name, stale, { context: address }) =>
      stale || address === undefined
        ? this.findBySecret(name)
        : this.attempts.find(name, address, (names) => this.findBySecrets(names)),
  });

  private trusted = new WeakMap<Socket, ConnectionCaller>();
  /** Hashes of credentials that were valid when they were last used. */
  private readonly recent = new LRUCache<string, true>({ max: CACHED_KEYS });
  /** Hashes of credentials that were looked up in the last seconds and were not valid. */
  private readonly refused = new LRUCache<string, true>({ max: CACHED_KEYS, ttl: CACHE_MS });

  constructor(
    private readonly database: Database,
    private readonly attempts: FailedAttempts,
    private readonly uses: KeyUses,
    @Inject(CONFIG) private readonly config: Pick<Config, 'maxKeysPerEntity' | 'signInProviders'>,
  ) {}

  /**
   * Returns the caller of a request with this credential on the connection. The result of `authenticate` is kept with
   * the connection, for the same guard: another one may not accept this scheme.
   */
  callerOn(
    socket: Socket,
    { guard, sent }: SentCredential,
    authenticate: () => Promise<Caller | undefined>,
  ): Caller | Promise<Caller | undefined> {
    const trusted = this.trusted.get(socket);
    if (
      trusted?.sent === sent &&
      trusted.guard === guard &&
      trusted.until > performance.now() &&
      !trusted.caller.isExpired()
    )
      return trusted.caller;
    const name = nameOfSent(sent);
    this.trusted.delete(socket);
    this.recent.delete(name);
    return authenticate().then((caller) => {
      if (!caller) return undefined;
      this.trusted.set(socket, { guard, sent, caller, until: performance.now() + CACHE_MS });
      this.recent.set(name, true);
      this.uses.note(caller);
      return caller;
    });
  }

  /**
   * Returns true when the header Authorization or the session of the cookie is valid, or was at its last use. An
   * unknown token of a workload is not verified here. `addressOf` is called only for a credential that is verified.
   * @throws ApiError `rate_limited` when the address has failed too often.
   */
  knows(
    { socket, headers }: Pick<Request, 'socket' | 'headers'>,
    addressOf: () => string,
  ): boolean | Promise<boolean> {
    const { authorization } = headers;
    const sent = authorization ?? sessionCookie({ headers });
    if (sent === undefined) return false;
    if (this.trusted.get(socket)?.sent === sent) return true;
    const name = nameOfSent(sent);
    if (this.recent.has(name)) return true;
    if (this.refused.has(name)) return Promise.resolve(false);
    const from = { address: addressOf(), challenge: '' };
    const isKnown = (caller: Caller | null) => {
      if (!caller) this.refused.set(name, true);
      return caller !== null;
    };
    if (authorization === undefined) return this.verifySession(sent, from).then(isKnown);
    const secret = sentSecret(authorization);
    return isSecret(secret) && this.verify(secret, from).then(isKnown);
  }

  /**
   * Returns null when the secret is not a valid key. The client does not learn why.
   * @throws ApiError `rate_limited` when the address has failed too often.
   */
  async verify(secret: string, from: SecretOrigin): Promise<Caller | null> {
    return this.callerWith(secret, isSecret(secret), '', from);
  }

  /** Verifies the token of a session, which ends with its key. */
  async verifySession(token: string, from: SecretOrigin): Promise<Caller | null> {
    return this.callerWith(token, isSessionToken(token), SESSION, from);
  }

  private async callerWith(
    secret: string,
    isWellFormed: boolean,
    kind: string,
    { address, challenge }: SecretOrigin,
  ): Promise<Caller | null> {
    if (!isWellFormed) {
      await this.attempts.count(address);
      return null;
    }
    const secretHash = hashSecret(secret);
    const name = kind + secretHash.toString('base64');
    const known = await this.cache.fetch(name, { context: address });
    if (!known || !timingSafeEqual(known.secretHash, secretHash)) return null;
    if (!isActive(known)) {
      await this.attempts.count(address);
      return null;
    }
    return new Caller(known.holder, { challenge, grants: () => this.grantsNow(name) });
  }

  /**
   * Reads the current grants. A transaction looks the key up on its own connection: if it waited for a look-up that
   * waits for a connection, transactions that hold all connections would block each other. It does not fill the cache.
   */
  private grantsNow(name: string): readonly Grant[] | null | Promise<readonly Grant[] | null> {
    const known = this.cache.get(name);
    if (known) return activeGrants(known);
    const finding = this.database.inTransaction
      ? this.findBySecret(name)
      : this.cache.fetch(name, { context: undefined });
    return finding.then(activeGrants);
  }

  private async findBySecret(name: string): Promise<CachedCredential | undefined> {
    return (await this.findBySecrets([name])).get(name);
  }

  private async findBySecrets(names: string[]): Promise<Map<string, CachedCredential>> {
    const found = new Map<string, CachedCredential>();
    for (const [kind, query] of LOOKUPS) {
      const hashes = names
        .filter((name) => name.startsWith(SESSION) === (kind === SESSION))
        .map((name) => Buffer.from(name.slice(kind.length), 'base64'));
      if (hashes.length === 0) continue;
      for (const key of await this.database.query(query(hashes)))
        found.set(
          kind + key.secretHash.toString('base64'),
          cachedCredential(key, kind === SESSION, this.config.signInProviders),
        );
    }
    return found;
  }

  /** Creates a key. The answer contains the secret, which is stored nowhere. */
  async create(
    { userName, role, scopes, expiresAt = null, userId = null }: NewKey,
    by: Actor,
    secret = newSecret(),
  ): Promise<{ id: string; secret: string }> {
    const id = uuidv7();
    const [secretHash, hint] = [hashSecret(secret), secretHint(secret)];
    const entity = ownerEntity(scopes[0]!);
    const detail = {
      user: userName,
      role,
      scopes,
      expires_at: expiresAt,
      ...(userId !== null && { user_id: userId }),
    };
    await this.database.transaction(async () => {
      if (entity !== '*') await this.assertRoom(entity);
      if (userId !== null) await this.assertRoomFor(userId);
      const createdBy = by.userName;
      const key = { id, userName, role, scopes, expiresAt, secretHash, hint, userId, createdBy };
      await this.database.repository(ApiKey).insert(key);
      await addEvent(this.database, { action: KEYS_CREATE, by, target: id, scopes, detail });
    });
    return { id, secret };
  }

  /**
   * Checks the limit of an entity, in the transaction that makes the key. Keys that have ended are deleted to make
   * room.
   */
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

  private async assertRoomFor(userId: string): Promise<void> {
    await this.database.query(lock(KEYS_OF_ENTITY, userId));
    if ((await this.personal(userId)).length >= MAX_PERSONAL_KEYS)
      throw new ApiError(
        'too_large',
        `you have ${MAX_PERSONAL_KEYS} keys, and a person may have ${MAX_PERSONAL_KEYS}; revoke one first`,
      );
  }

  /** Returns the personal keys that have not ended. */
  async personal(userId: string): Promise<KeyDto[]> {
    const rows = await this.database.query(personalKeys(userId, MAX_PERSONAL_KEYS));
    return rows.map(({ json }) => JSON.parse(json) as KeyDto);
  }

  /**
   * Streams the keys that reach no further than these scopes as JSON texts, oldest first. `hasMore` is valid once all
   * are read.
   */
  async within(
    scopes: readonly string[],
    after: string | null,
    limit: number,
  ): Promise<{ keys: Readable; hasMore: () => boolean }> {
    const rows = new ByteRows(limit);
    const query = keysWithin(scopes, after, limit + 1);
    const keys = await this.database.stream(query, { rows, firstBatch: FIRST_KEYS });
    return { keys, hasMore: () => rows.hasMore };
  }

  async *pages(size: number): AsyncGenerator<ApiKey[]> {
    const keys = this.database.repository(ApiKey);
    let page: ApiKey[];
    for (let after: string = NIL; ; after = page.at(-1)!.id) {
      page = await keys.find({ where: { id: MoreThan(after) }, order: { id: 'ASC' }, take: size });
      if (page.length > 0) yield page;
      if (page.length < size) return;
    }
  }

  async shown(id: string): Promise<KeyDto | undefined> {
    const [row] = await this.database.query(keyShown(id));
    return row && (JSON.parse(row.json) as KeyDto);
  }

  /** Returns false when no key has this id, or it was already revoked. */
  async revoke(id: string, by: Actor): Promise<boolean> {
    const revoke = async () => {
      const [revoked] = await this.database.query(keyRevoke(id));
      if (!revoked) return false;
      const { scopes } = revoked;
      await addEvent(this.database, { action: KEYS_REVOKE, by, target: id, scopes });
      return true;
    };
    const isRevoked = await this.database.transaction({ isUrgent: true }, revoke);
    this.forget();
    return isRevoked;
  }

  forget(): void {
    this.cache.clear();
    this.recent.clear();
    this.refused.clear();
    this.trusted = new WeakMap();
  }

  find(id: string): Promise<ApiKey | null> {
    return this.database.repository(ApiKey).findOneBy({ id });
  }

  hasAny(): Promise<boolean> {
    return this.database.repository(ApiKey).exists();
  }
}

const activeGrants = (known: CachedCredential | undefined) =>
  known !== undefined && isActive(known) ? known.holder.grants : null;

const nameOfSent = (sent: string) => hashSecret(sent).toString('base64');

/** Combines a row's key and person. A key whose person no longer exists gets no grants. */
function cachedCredential(
  { id, userId, key, person, secretHash, expiresAt, revokedAt }: FoundCredential,
  isSession: boolean,
  providers: Config['signInProviders'],
): CachedCredential {
  const personal = person ? grantsTo(person, providers) : [];
  const ofKey = key && userId === null ? [key] : [];
  const both = key && userId !== null ? intersectGrants(personal, key) : [];
  const holder: CredentialHolder = {
    id,
    userName: person ? personName(person) : (key?.userName ?? ''),
    grants: key ? [...ofKey, ...both] : personal,
    expiresAt,
    by: isSession ? 'session' : person ? 'personal key' : 'key',
    person,
  };
  return { holder, secretHash, revokedAt };
}

const isActive = ({ holder: { grants, expiresAt }, revokedAt }: CachedCredential) =>
  grants.length > 0 && !revokedAt && (!expiresAt || expiresAt.getTime() > Date.now());
