import { isIP, isIPv6, SocketAddress } from 'node:net';
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { ApiError } from '../errors.js';
import { RateLimiter } from './rate-limiter.js';

export const ATTEMPTS = 20;
/** Secrets from addresses over the limit are looked up in groups: how often, and how many at a time. */
const TOGETHER_MS = 250;
const MAX_TOGETHER = 1000;

const attempts = new RateLimiter('attempts', ATTEMPTS);
/** Sign-ins that failed: each has a line in the log, which nobody may fill. */
const logged = new RateLimiter('logged sign-ins', ATTEMPTS);

/** Answers which of the secrets, given as hashes, are keys. */
export type SecretLookup<Key> = (secretHashes: string[]) => Promise<Map<string, Key>>;

/** Secrets that wait to be looked up together. */
interface LookupBatch {
  hashes: Set<string>;
  found: Promise<Map<string, unknown>>;
}

/**
 * Limits failed authentications of an address. An attempt is counted before its secret is looked up, and given back when
 * it was a key. Past the limit secrets wait for each other and share one statement each 250 ms, at most 1000 of them: a
 * good key behind such an address is found with them, and guesses cost the database four statements a second.
 */
@Injectable()
export class FailedAttempts {
  /** @throws ApiError `rate_limited` when the address has no attempt left. */
  async count(address: string): Promise<void> {
    const ms = await attempts.take(address);
    if (ms > 0) throw tooMany(ms);
  }

  /** Whether a sign-in of the address that failed is logged. It counts for nothing else: all people of an office may have one address. */
  async isLogged(address: string): Promise<boolean> {
    return (await logged.take(address)) === 0;
  }

  /** The key of a secret that is not known yet. Secrets of one kind are looked up together. @throws ApiError `rate_limited` */
  async find<Key>(secretHash: string, address: string, lookUp: SecretLookup<Key>, kind = 'keys') {
    const ms = await attempts.take(address);
    const keys =
      ms > 0 ? await this.together(kind, secretHash, lookUp) : await lookUp([secretHash]);
    const key = keys.get(secretHash);
    if (key && ms === 0) await attempts.add(address, -1);
    if (!key && ms > 0) throw tooMany(ms);
    return key;
  }

  /** By kind. */
  private readonly groups = new Map<string, LookupBatch>();

  private together<Key>(
    kind: string,
    secretHash: string,
    lookUp: SecretLookup<Key>,
  ): Promise<Map<string, Key>> {
    let group = this.groups.get(kind);
    if (!group) {
      const hashes = new Set<string>();
      const found = new Promise((resolve) => setTimeout(resolve, TOGETHER_MS)).then(() => {
        this.groups.delete(kind);
        return lookUp([...hashes]);
      });
      this.groups.set(kind, (group = { hashes, found }));
    }
    if (group.hashes.size >= MAX_TOGETHER) return Promise.reject(tooMany(TOGETHER_MS));
    group.hashes.add(secretHash);
    return group.found as Promise<Map<string, Key>>;
  }
}

const tooMany = (ms: number) =>
  new ApiError(
    'rate_limited',
    `more than ${ATTEMPTS} failed authentications from this address within a minute`,
    {
      headers: { 'Retry-After': String(Math.ceil(ms / 1000)) },
    },
  );

/** The address that is counted: for IPv6 its /64, the least that one customer is given. */
export function clientAddress({ ip = '', socket }: Pick<Request, 'ip' | 'socket'>): string {
  // a proxy may pass on any text as an address
  return isIP(ip) ? clientNetwork(ip) : clientNetwork(socket.remoteAddress ?? '');
}

/** Of IPv6 the /64, else the address. */
export function clientNetwork(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const { address } = new SocketAddress({ address: ip.replace(/%.*/, ''), family: 'ipv6' });
  const mapped = /^::ffff:([\d.]+)$/.exec(address)?.[1];
  if (mapped) return mapped;
  const [head = '', tail] = address.split('::');
  const groups = (part: string | undefined) => (part ? part.split(':') : []);
  const zeros = Math.max(0, 8 - groups(head).length - groups(tail).length);
  const all =
    tail === undefined
      ? groups(head)
      : [...groups(head), ...Array<string>(zeros).fill('0'), ...groups(tail)];
  return `${all.slice(0, 4).join(':')}::/64`;
}
