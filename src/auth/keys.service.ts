import { timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { IsNull, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { ApiKey, type Role } from './api-key.entity.js';
import { Caller } from './caller.js';
import { hashOf, hintOf, isSecret, newSecret } from './secret.js';

/** How long a key is believed, and then again a connection: together under the 5 s in which a revoked key is refused. */
const CACHE_MS = 2000;
const CACHED_KEYS = 10_000;

/** What is needed to make a key. */
export interface NewKey {
  userName: string;
  role: Role;
  scopes: string[];
  expiresAt?: Date | null;
}

/** What a connection sent last, and who that was. */
interface Known {
  header: string;
  caller: Caller;
  until: number;
}

/**
 * Issues, lists, revokes and verifies API keys. Verification keeps a key it read for `CACHE_MS`, so that it costs at
 * most one look-up a key and process in that time; concurrent look-ups of one key share it. For as long
 * again a connection is believed that the header it sent is the same caller's, so that it is not taken apart for each
 * request. An unknown secret is not kept: guesses must not push out good keys. It costs a look-up by index, also past the
 * limit of failed attempts, because a good key behind the same address must still be found.
 */
@Injectable()
export class KeysService {
  private readonly cache = new LRUCache<string, ApiKey>({
    max: CACHED_KEYS,
    ttl: CACHE_MS,
    fetchMethod: async (secretHash) =>
      (await this.keys.findOneBy({ secretHash: Buffer.from(secretHash, 'base64') })) ?? undefined,
  });

  private known = new WeakMap<Socket, Known>();

  constructor(@InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>) {}

  /** Who sends a request with this header over the connection; what `authenticate` finds is kept with the connection. */
  async callerOn(
    socket: Socket,
    header: string,
    authenticate: () => Promise<Caller | undefined>,
  ): Promise<Caller | undefined> {
    const known = this.known.get(socket);
    if (known?.header === header && known.until > Date.now() && !known.caller.isExpired())
      return known.caller;
    const caller = await authenticate();
    if (caller) this.known.set(socket, { header, caller, until: Date.now() + CACHE_MS });
    return caller;
  }

  /** Null for a secret that is no valid key; which of the reasons it was is not told. */
  async verify(secret: string): Promise<Caller | null> {
    if (!isSecret(secret)) return null;
    const secretHash = hashOf(secret);
    const key = await this.cache.fetch(secretHash.toString('base64'));
    if (!key || !timingSafeEqual(key.secretHash, secretHash)) return null;
    if (key.revokedAt) return null;
    const caller = new Caller(key);
    return caller.isExpired() ? null : caller;
  }

  /** The answer holds the secret, which is stored nowhere. */
  async create(
    { userName, role, scopes, expiresAt = null }: NewKey,
    secret = newSecret(),
  ): Promise<{ id: string; secret: string }> {
    const id = uuidv7();
    await this.keys.insert({
      id,
      userName,
      role,
      scopes,
      expiresAt,
      secretHash: hashOf(secret),
      hint: hintOf(secret),
    });
    return { id, secret };
  }

  list(): Promise<ApiKey[]> {
    return this.keys.find({ order: { id: 'ASC' } });
  }

  /** False when there is no such key, or it was revoked before. */
  async revoke(id: string): Promise<boolean> {
    const { affected } = await this.keys.update(
      { id, revokedAt: IsNull() },
      { revokedAt: new Date() },
    );
    this.cache.clear();
    this.known = new WeakMap();
    return affected === 1;
  }

  find(id: string): Promise<ApiKey | null> {
    return this.keys.findOneBy({ id });
  }

  async hasAny(): Promise<boolean> {
    return this.keys.exists();
  }
}
