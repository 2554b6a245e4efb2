import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type Actor, addEvent, auditAction } from '../../audit/add-event.js';
import { ApiError } from '../../errors.js';
import { Database } from '../../database/database.js';
import { Schedule } from '../../database/schedule.js';
import { ConsoleSession } from './console-session.entity.js';
import { FailedAttempts } from '../limits/failed-attempts.js';
import { FailureLog } from '../limits/failure-log.js';
import { KeysService } from '../keys/keys.service.js';
import { seal, unseal } from '../seal.js';
import { hashSecret } from '../keys/secret.js';
import { isSessionToken } from './session-cookie.js';
import {
  codeInsert,
  codeRedeem,
  codesKnown,
  expiredSessionsDelete,
  loginKey,
  oldestAdminKey,
  personSessionInsert,
  type ProviderSession,
  sessionInsert,
} from './sessions.query.js';

const CONSOLE_LOGIN = auditAction('console.login');
const CONSOLE_CODE = auditAction('console.code');

export const SESSION_SECONDS = 12 * 60 * 60;
const CODE_SECONDS = 15 * 60;
/** Most sessions of one key. Without this limit a reader could fill the disk by signing in. */
const MAX_SESSIONS = 100;
const SWEEP_EVERY_MS = 60 * 60 * 1000;

type KeyActor = Actor & { keyId: string; scopes: readonly string[] };

const newToken = () => randomBytes(32).toString('base64url');

/**
 * Stores a code that starts one session of a key, and returns the code. Without `keyId` the key is the oldest one that
 * may do everything. Returns undefined when no valid key is found, or it may not use the console.
 */
export async function newLoginCode(
  database: Database,
  by: Actor,
  keyId?: string,
): Promise<string | undefined> {
  const [key] = await database.query(keyId === undefined ? oldestAdminKey() : loginKey(keyId));
  if (!key) return undefined;
  const code = newToken();
  await database.transaction(async () => {
    await database.query(codeInsert(hashSecret(code), key.id, CODE_SECONDS));
    const event = { action: CONSOLE_CODE, by, target: key.id, scopes: key.scopes };
    await addEvent(database, { ...event, detail: { user: key.user_name } });
  });
  return code;
}

/** Returns the link that uses a code. The code is in the fragment, which neither a proxy nor a log receives. */
export const loginLink = (address: string, code: string): string =>
  `${address}/console/#code=${code}`;

/**
 * Sessions of the console. Each lasts 12 hours with the role and scopes of its API key, and ends with the key. Only
 * hashes are stored. `KeysService` verifies a session's token like a key.
 */
@Injectable()
export class SessionsService {
  @Inject() private readonly failures!: FailureLog;

  constructor(
    private readonly database: Database,
    private readonly attempts: FailedAttempts,
    private readonly keys: KeysService,
    schedule: Schedule,
  ) {
    schedule.every(SWEEP_EVERY_MS, 'sessions', () => database.query(expiredSessionsDelete()));
  }

  /** Begins a session of the key, and returns its token. Above the limit the oldest session ends. */
  async begin(key: KeyActor): Promise<string> {
    const token = newToken();
    const bounds = { seconds: SESSION_SECONDS, limit: MAX_SESSIONS };
    await this.database.transaction(async () => {
      await this.database.query(sessionInsert(hashSecret(token), key.keyId, bounds));
      await this.tellLogin(key, 'key');
    });
    return token;
  }

  /**
   * Begins a session of a person, and returns its new token. The provider's ID token is stored encrypted with this
   * token, so only the browser can present it to the provider.
   */
  async beginForPerson(userId: string, kept: ProviderSession): Promise<string> {
    const token = newToken();
    const idToken = kept.idToken && seal(kept.idToken, token);
    const bounds = { seconds: SESSION_SECONDS, limit: MAX_SESSIONS };
    const query = personSessionInsert(hashSecret(token), userId, { ...kept, idToken }, bounds);
    await this.database.query(query);
    return token;
  }

  private tellLogin(key: KeyActor, by: 'key' | 'code') {
    const { keyId: target, scopes } = key;
    return addEvent(this.database, {
      action: CONSOLE_LOGIN,
      by: key,
      target,
      scopes,
      detail: { by },
    });
  }

  /**
   * Begins the session of a login code, and returns its token.
   * @throws ApiError `unauthenticated`, or `rate_limited` when the address has failed too often.
   */
  async redeem(code: string, address: string): Promise<string> {
    if (!isSessionToken(code)) await this.attempts.count(address);
    else if (await this.isCode(hashSecret(code), address)) {
      const token = newToken();
      if (await this.database.transaction(() => this.turn(code, token))) return token;
    }
    this.failures.note(address);
    throw new ApiError(
      'unauthenticated',
      'the login code is unknown, was used before, or is older than 15 minutes',
    );
  }

  /** Returns true for a redeemable code, even when others at the address have made too many guesses. */
  private async isCode(codeHash: Buffer, address: string): Promise<boolean> {
    const lookUp = async (hashes: string[]) => {
      const known = await this.database.query(
        codesKnown(hashes.map((hash) => Buffer.from(hash, 'base64'))),
      );
      return new Map(known.map(({ hash }) => [hash, true]));
    };
    return (
      (await this.attempts.find(codeHash.toString('base64'), address, lookUp, 'codes')) ?? false
    );
  }

  /** Turns the code into the session of the token. Returns false when it is not a redeemable code. */
  private async turn(code: string, token: string): Promise<boolean> {
    const query = codeRedeem(hashSecret(code), hashSecret(token), SESSION_SECONDS);
    const [key] = await this.database.query(query);
    if (key)
      await this.tellLogin({ keyId: key.id, userName: key.user_name, scopes: key.scopes }, 'code');
    return key !== undefined;
  }

  /** Ends a session, and returns it with its ID token decrypted. */
  async end(token: string): Promise<ConsoleSession | null> {
    const sessions = this.database.repository(ConsoleSession);
    const tokenHash = hashSecret(token);
    const session = await sessions.findOneBy({ tokenHash });
    await sessions.delete({ tokenHash });
    this.keys.forget();
    if (session?.idToken) session.idToken = unseal(session.idToken, token);
    return session;
  }
}
