import { isIP, isIPv6, SocketAddress } from 'node:net';
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { rateLimited } from '../../errors.js';
import { RateLimiter } from './rate-limiter.js';

export const ATTEMPTS = 20;
/** Interval and size of the batches in which secrets from addresses over the limit are looked up. */
const TOGETHER_MS = 250;
const MAX_TOGETHER = 1000;

const attempts = new RateLimiter('attempts', ATTEMPTS);
/** Limits the log lines of failed sign-ins, so that nobody can fill the log. */
const logged = new RateLimiter('logged sign-ins', ATTEMPTS);

/** Returns the keys of the given secret hashes, keyed by hash. */
export type SecretLookup<Key> = (secretHashes: string[]) => Promise<Map<string, Key>>;

interface LookupBatch {
  hashes: Set<string>;
  found: Promise<Map<string, unknown>>;
}

/**
 * Limits failed authentications per address. An attempt is counted before its secret is looked up, and given back when
 * the secret is a key. Over the limit, secrets wait and share one statement per 250 ms, at most 1000 of them. A valid
 * key from such an address is still found, and guesses cost the database four statements a second.
 */
@Injectable()
export class FailedAttempts {
  /** @throws ApiError `rate_limited` when the address has no attempt left. */
  async count(address: string): Promise<void> {
    const ms = await attempts.take(address);
    if (ms > 0) throw tooMany(ms);
  }

  /**
   * Returns true when a failed sign-in of the address is to be logged. It limits nothing else, because all people of an
   * office may share one address.
   */
  async isLogged(address: string): Promise<boolean> {
    return (await logged.take(address)) === 0;
  }

  /**
   * Returns the key of a secret that is not cached. Secrets of one kind are looked up together.
   * @throws ApiError `rate_limited`
   */
  async find<Key>(secretHash: string, address: string, lookUp: SecretLookup<Key>, kind = 'keys') {
    const ms = await attempts.take(address);
    const keys =
      ms > 0 ? await this.together(kind, secretHash, lookUp) : await lookUp([secretHash]);
    const key = keys.get(secretHash);
    if (key && ms === 0) await attempts.add(address, -1);
    if (!key && ms > 0) throw tooMany(ms);
    return key;
  }

  /** Waiting look-ups, keyed by kind of secret. */
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
  rateLimited(`more than ${ATTEMPTS} failed authentications from this address within a minute`, ms);

/** Returns the address to count. For IPv6 it is the /64 network, the smallest that a customer gets. */
export function clientAddress({ ip = '', socket }: Pick<Request, 'ip' | 'socket'>): string {
  // a proxy may forward any text as an address
  return isIP(ip) ? clientNetwork(ip) : clientNetwork(socket.remoteAddress ?? '');
}

/** Returns the /64 network of an IPv6 address, and any other address unchanged. */
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
