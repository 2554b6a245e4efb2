import { hash, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { IsNull, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { ApiKey, type Role } from './api-key.entity.js';
import { Caller } from './caller.js';
import { hashOf, hintOf, isSecret, newSecret } from './secret.js';

/** How long a key, and a header that was made from it, are believed: together under the 5 s that the text promises. */
const CACHE_MS = 2000;
const CACHED_KEYS = 10_000;

/** What is needed to make a key. */
export interface NewKey {
  userName: string;
  role: Role;
  scopes: string[];
  expiresAt?: Date | null;
}

/**
 * Issues, lists, revokes and verifies API keys. Verification keeps a key it read for `CACHE_MS`, so that it costs at
 * most one look-up a key and process in that time; concurrent look-ups of one key share it. Who a header stands for is
 * kept as long, by the header's digest, so that it is not taken apart for each request. An unknown secret is not kept:
 * guesses must not push out good keys. It costs a look-up by index, also past the limit of failed attempts, because a
 * good key behind the same address must still be found.
 */
@Injectable()
export class KeysService {
  private readonly cache = new LRUCache<string, ApiKey>({
    max: CACHED_KEYS,
    ttl: CACHE_MS,
    fetchMethod: async (secretHash) =>
      (await this.keys.findOneBy({ secretHash: Buffer.from(secretHash, 'base64') })) ?? undefined,
  });

  private readonly callers = new LRUCache<string, Caller>({ max: CACHED_KEYS, ttl: CACHE_MS });

  constructor(@InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>) {}

  /** Who the header `authorization` under the scheme stands for; what `authenticate` finds is kept. */
  async callerOf(
    scheme: string,
    authorization: string,
    authenticate: () => Promise<Caller | undefined>,
  ): Promise<Caller | undefined> {
    const digest = hash('sha256', `${scheme} ${authorization}`, 'base64');
    const known = this.callers.get(digest);
    if (known && !known.isExpired()) return known;
    const caller = await authenticate();
    if (caller) this.callers.set(digest, caller);
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
    this.callers.clear();
    return affected === 1;
  }

  find(id: string): Promise<ApiKey | null> {
    return this.keys.findOneBy({ id });
  }

  async hasAny(): Promise<boolean> {
    return this.keys.exists();
  }
}
