import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ApiError } from '../errors.js';
import { Database } from '../database/database.js';
import { Schedule } from '../database/schedule.js';
import { ConsoleSession } from './console-session.entity.js';
import { FailedAttempts } from './failed-attempts.js';
import { KeysService } from './keys.service.js';
import { hashOf } from './secret.js';
import { isSessionToken } from './session-cookie.js';
import {
  codeInsert,
  codeRedeem,
  codesKnown,
  expiredSessionsDelete,
  oldestAdminKey,
  sessionInsert,
} from './sessions.query.js';

export const SESSION_SECONDS = 12 * 60 * 60;
const CODE_SECONDS = 15 * 60;
/** Per key: otherwise a reader could fill the disk by signing in. */
const MAX_SESSIONS = 100;
const SWEEP_EVERY_MS = 60 * 60 * 1000;

const newToken = () => randomBytes(32).toString('base64url');

/** Stores a code that begins a session of the key once, and returns it. */
async function newLoginCode(database: Database, keyId: string): Promise<string> {
  const code = newToken();
  await database.query(codeInsert(hashOf(code), keyId, CODE_SECONDS));
  return code;
}

/** The same for the key that the command line and a terminal act for; undefined when there is none. */
export async function newOperatorCode(database: Database): Promise<string | undefined> {
  const [key] = await database.query(oldestAdminKey());
  return key && newLoginCode(database, key.id);
}

/** Where a code is used. It stands in the fragment, which neither a proxy nor a log sees. */
export const loginLink = (address: string, code: string): string =>
  `${address}/console/#code=${code}`;

/**
 * Sessions of the console. Each stands for an API key for 12 hours, with its role and scopes, and ends with it. Only
 * hashes are stored. `KeysService` verifies a session's token as it verifies a key.
 */
@Injectable()
export class SessionsService {
  constructor(
    private readonly database: Database,
    private readonly attempts: FailedAttempts,
    private readonly keys: KeysService,
    schedule: Schedule,
  ) {
    schedule.every(SWEEP_EVERY_MS, 'sessions', () => database.query(expiredSessionsDelete()));
  }

  /** Begins a session of the key, and returns its token. Of many sessions the oldest ends. */
  async begin(keyId: string): Promise<string> {
    const token = newToken();
    const bounds = { seconds: SESSION_SECONDS, limit: MAX_SESSIONS };
    await this.database.query(sessionInsert(hashOf(token), keyId, bounds));
    return token;
  }

  /**
   * Begins the session of a login code, and returns its token.
   * @throws ApiError `unauthenticated`, or `rate_limited` when the address has failed too often.
   */
  async redeem(code: string, address: string): Promise<string> {
    if (!isSessionToken(code)) await this.attempts.count(address);
    else if (await this.isCode(hashOf(code), address)) {
      const token = newToken();
      const redeem = codeRedeem(hashOf(code), hashOf(token), SESSION_SECONDS);
      if ((await this.database.query(redeem)).length > 0) return token;
    }
    throw new ApiError(
      'unauthenticated',
      'the login code is unknown, was used before, or is older than 15 minutes',
    );
  }

  /** Guesses of others at the address do not keep a code from being found. */
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

  async end(token: string): Promise<void> {
    await this.database.repository(ConsoleSession).delete({ tokenHash: hashOf(token) });
    this.keys.forget();
  }
}
