import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Request } from 'express';
import { ApiError } from '../common/errors.js';
import { isId } from '../common/dto.js';
import { Database } from '../database/database.js';
import { sql } from '../query/sql.js';
import type { Caller } from './caller.js';

const HEADERS = ['idempotency-key', 'x-weave-retry-id'];

/** Says in the API's description that the route takes an `Idempotency-Key`; `Idempotency.once` is what it does. */
export const IdempotencyHeader = () =>
  ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'The same key with the same body gets the first answer again for 24 hours; with another body, 409.',
    schema: { type: 'string', maxLength: 256 },
  });

/**
 * Writes that may carry an `Idempotency-Key`. The key, the write and its answer are committed in one transaction, so a
 * resend gets the first answer and the write never happens twice.
 */
@Injectable()
export class Idempotency {
  constructor(private readonly database: Database) {}

  /**
   * Runs the write of a request with a validated body, under its key if it has one. A write that is harmless to repeat
   * (an upsert by the client's own ids) costs no key.
   */
  async once<T>(request: Request, write: () => Promise<T>, isHarmless = false): Promise<T> {
    const key = idempotencyKey(request);
    if (key === undefined || isHarmless) return write();
    const keyed: KeyedWrite = {
      key,
      project: request.projects[0] ?? '',
      caller: request.user as Caller,
      hash: createHash('sha256').update(`${request.path}\n${request.bodyText}`).digest(),
    };
    return answeredOnce(this.database, keyed, write);
  }
}

/** The key a request carries; undefined when it carries none. */
export function idempotencyKey(request: Request): string | undefined {
  const key = HEADERS.map((name) => request.headers[name]).find((value) => value !== undefined);
  if (key !== undefined && !isId(key))
    throw new ApiError(
      'invalid_request',
      'the header Idempotency-Key must have 1 to 256 characters',
    );
  return key;
}

/** A write under an idempotency key. */
export interface KeyedWrite {
  key: string;
  project: string;
  caller: Caller;
  /** SHA-256 of path and body. */
  hash: Buffer;
}

/** Runs the write in one transaction with its key, or answers what it answered the first time. */
export function answeredOnce<T>(
  database: Database,
  { key, project, caller, hash }: KeyedWrite,
  work: () => Promise<T>,
): Promise<T> {
  const isThisOne = sql`project_id = ${project} AND api_key_id = ${caller.keyId} AND key = ${key}`;
  return database.transaction(async () => {
    // A second request with the key waits here until the first one's transaction has ended.
    const claimed = await database.query(sql`
      INSERT INTO idempotency_keys AS known (project_id, api_key_id, key, body_hash)
      VALUES (${project}, ${caller.keyId}, ${key}, ${hash})
      ON CONFLICT (project_id, api_key_id, key) DO UPDATE
        SET body_hash = excluded.body_hash, response = NULL, created_at = now()
        WHERE known.created_at < now() - interval '24 hours'
      RETURNING 1`);
    if (claimed.length === 0) {
      const [first] = await database.query<{ body_hash: Buffer; response: T }>(
        sql`SELECT body_hash, response FROM idempotency_keys WHERE ${isThisOne}`,
      );
      if (first && first.body_hash.equals(hash)) return first.response;
      throw new ApiError('conflict', 'the Idempotency-Key was used with another body');
    }
    const answer = await work();
    await database.query(
      sql`UPDATE idempotency_keys SET response = ${JSON.stringify(answer)}::json WHERE ${isThisOne}`,
    );
    return answer;
  });
}
