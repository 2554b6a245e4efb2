import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { isUUID } from 'class-validator';
import { from, lastValueFrom, type Observable } from 'rxjs';
import type { Context } from '../../http/context.js';
import { ApiError, unavailable } from '../../errors.js';
import { isId, isProjectId } from '../../http/dto.js';
import type { WithHeaders } from '../../http/inflated-body.js';
import { Database } from '../../database/database.js';
import { sql } from '../../query/sql.js';
import type { Caller } from '../caller.js';
import { seal, unseal } from '../seal.js';
import { sessionToken } from '../sessions/session-cookie.js';

interface Options {
  /**
   * Returns the project of the answer's data, when no field of the request names a project. The key is stored and
   * erased with that project.
   */
  project?: (body: never, caller: Caller) => string | undefined;
  /**
   * The entity whose row the URL's id names, when that row has the project. The row must outlive the item that it
   * describes.
   */
  of?: new () => { projectId: string; id: string };
  /** True for a body that changes nothing and may be sent again at any time: no key is stored. */
  unless?: (body: never) => boolean;
  /** True when the answer contains a secret: it is stored encrypted with the caller's key. */
  isSecret?: boolean;
}

const OPTIONS = 'idempotent';

const IdempotencyHeader = () =>
  ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'The same key with the same body gets the first answer again for 24 hours; with another body, 409.',
    schema: { type: 'string', maxLength: 256 },
  });

/** Lets the route accept an `Idempotency-Key`. Its handler runs once per key. */
export const Idempotent = (options: Options = {}) =>
  applyDecorators(SetMetadata(OPTIONS, options), UseInterceptors(Idempotency), IdempotencyHeader());

/**
 * Documents the header for a handler that calls `Idempotency.once` or `answerOnce` itself. Such a handler reads the
 * body itself, or is called so often that Nest's interceptor would cost too much for requests without a key.
 */
export const IdempotentInHandler = IdempotencyHeader;

/**
 * Runs a handler under the request's `Idempotency-Key`, if it has one. The key, the write and its answer are committed
 * in one transaction, so a resend gets the first answer and the write never happens twice.
 */
@Injectable()
export class Idempotency implements NestInterceptor {
  constructor(private readonly database: Database) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context
      .switchToHttp()
      .getRequest<IncomingMessage & { body: never; params: { id?: string } }>();
    if (idempotencyKey(request) === undefined) return next.handle();
    const options: Options = Reflect.getMetadata(OPTIONS, context.getHandler());
    if (options.unless?.(request.body)) return next.handle();
    const { params, body, context: own } = request;
    const write = async () => {
      const project = options.of
        ? await this.findProject(options.of, params.id)
        : options.project?.(body, own.caller);
      const isReached = project !== undefined && own.caller.reaches(project); // otherwise the handler refuses it
      return this.once(own, () => lastValueFrom(next.handle()), {
        ...(options.isSecret && { isSecret: true }),
        ...(isReached && { project }),
      });
    };
    return from(write());
  }

  private async findProject(
    of: NonNullable<Options['of']>,
    id: string | undefined,
  ): Promise<string | undefined> {
    if (!isUUID(id)) return undefined;
    const row = await this.database.repository(of).findOneBy({ id });
    return row?.projectId;
  }

  /**
   * Runs the write of a request with a validated body under its key, if it has one. A harmless write stores no key.
   * `transaction` opens the transaction in which the write runs, and its key is committed.
   */
  async once<T>(
    context: Context,
    write: () => Promise<T>,
    {
      isHarmless = false,
      isSecret = false,
      project,
      transaction,
    }: {
      isHarmless?: boolean;
      isSecret?: boolean;
      project?: string;
      transaction?: Transaction<T>;
    } = {},
  ): Promise<T> {
    const key = idempotencyKey(context);
    if (key === undefined || isHarmless) return transaction ? transaction(write) : write();
    const sent = `${context.url}\n${context.bodyText ?? ''}`;
    const keyed: KeyedWrite = {
      key,
      project: project ?? context.project ?? '',
      caller: context.caller,
      hash: createHash('sha256').update(sent).digest(),
      ...(isSecret
        ? { secret: sentPassword(context) }
        : isOfNoSingleProject(context, project) && { secret: sent }),
    };
    return answerOnce(this.database, keyed, write, transaction);
  }
}

/**
 * True when no erasing of a project finds the answer and all projects that it is about. It is then sealed with the
 * request, so that only a client that sends the same request again can read it.
 */
const isOfNoSingleProject = ({ projects, project }: Context, own: string | undefined): boolean =>
  (own ?? project) === undefined || new Set(projects).size > 1;

/** Returns the first project among the scopes of a body, which is not validated yet. */
export const projectOfScopes = (scopes: unknown): string | undefined =>
  [scopes].flat().find(isProjectId);

export function idempotencyKey({ headers }: WithHeaders): string | undefined {
  const key = headers['idempotency-key'];
  if (key !== undefined && !isId(key))
    throw new ApiError(
      'invalid_request',
      'the header Idempotency-Key must have 1 to 256 characters',
    );
  return key;
}

/** Returns the key that a Basic caller sent, or the token of its session. */
function sentPassword(request: WithHeaders): string {
  const { authorization } = request.headers;
  if (authorization === undefined) return sessionToken(request)!;
  return Buffer.from(authorization.split(' ')[1]!, 'base64').toString().split(':')[1]!;
}

export interface KeyedWrite {
  key: string;
  project: string;
  caller: Caller;
  /** SHA-256 of path and body. */
  hash: Buffer;
  /** Secret that encrypts the stored answer. */
  secret?: string;
}

/** A running write of this process, and the number of requests that wait for its answer. */
interface PendingWrite {
  hash: Buffer;
  answer: Promise<unknown>;
  waiting: number;
}

const pendingWrites = new Map<string, PendingWrite>();

/** Most requests that may wait for one write, and their longest wait. Further requests are answered 503. */
const MAX_WAITING = 256;
const WAIT_MS = 5000;
/** Longest wait for the write of another process. The request holds a connection meanwhile. */
const CLAIM_MS = 2000;

const stillUnderWay = (cause?: unknown) =>
  unavailable('another request with this Idempotency-Key is under way', cause);

/**
 * Runs the write in one transaction with its key, or returns the first answer. A resend during the write in the same
 * process waits in memory for its answer or failure, and needs no connection. The transaction may wait for locks and
 * queues that an ordinary write waits for without a connection. It therefore takes a slot, so that one API key cannot
 * keep all connections waiting.
 */
export async function answerOnce<T>(
  database: Database,
  write: KeyedWrite,
  work: () => Promise<T>,
  transaction: Transaction<T> = (run) =>
    database.transaction({ owner: write.caller.owner, long: 'write' }, run),
): Promise<T> {
  const name = JSON.stringify([write.project, write.caller.keyId, write.key]);
  const first = pendingWrites.get(name);
  if (first) return repeatAnswer(first, write) as Promise<T>;
  const answer = transaction(() => keyedWrite(database, write, work));
  pendingWrites.set(name, { hash: write.hash, answer, waiting: 0 });
  try {
    return await answer;
  } finally {
    pendingWrites.delete(name);
  }
}

async function repeatAnswer(first: PendingWrite, { hash, caller }: KeyedWrite): Promise<unknown> {
  if (!first.hash.equals(hash)) throw otherBody();
  if (first.waiting >= MAX_WAITING) throw stillUnderWay();
  first.waiting++;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(stillUnderWay()), WAIT_MS);
  });
  try {
    const answer = await Promise.race([first.answer, late]);
    await caller.assertValid();
    return answer;
  } finally {
    first.waiting--;
    clearTimeout(timer);
  }
}

type Transaction<T> = (run: () => Promise<T>) => Promise<T>;

async function keyedWrite<T>(
  database: Database,
  { key, project, caller, hash, secret }: KeyedWrite,
  work: () => Promise<T>,
): Promise<T> {
  const isThisOne = sql`project_id = ${project} AND api_key_id = ${caller.keyId} AND key = ${key}`;
  const [{ before } = {}] = await database.query<{ before: string }>(sql`
      SELECT current_setting('statement_timeout') AS before,
        set_config('statement_timeout', ${String(CLAIM_MS)}, true)`);
  // A second request with the key, in another process, waits here until the first transaction has ended.
  const claimed = await database
    .query(
      sql`
      INSERT INTO idempotency_keys AS known (project_id, api_key_id, key, body_hash)
      VALUES (${project}, ${caller.keyId}, ${key}, ${hash})
      ON CONFLICT (project_id, api_key_id, key) DO UPDATE
        SET body_hash = excluded.body_hash, response = NULL, created_at = excluded.created_at
        WHERE excluded.created_at - known.created_at > interval '24 hours'
      RETURNING 1`,
    )
    .catch((error: { code?: unknown }) => {
      throw error.code === QUERY_CANCELED ? stillUnderWay(error) : error;
    });
  await caller.assertValid();
  if (claimed.length === 0) {
    const [first] = await database.query<{ body_hash: Buffer; response: never }>(
      sql`SELECT body_hash, response FROM idempotency_keys WHERE ${isThisOne}`,
    );
    if (!first?.body_hash.equals(hash)) throw otherBody();
    const { response } = first;
    return (
      secret && typeof response === 'string' ? openedAnswer(response, secret) : response
    ) as T;
  }
  await database.query(sql`SELECT set_config('statement_timeout', ${before}, true)`);
  const answer = await work();
  const text = JSON.stringify(answer);
  const kept = secret ? JSON.stringify(seal(text, secret)) : text;
  await database.query(
    sql`UPDATE idempotency_keys SET response = ${kept}::json WHERE ${isThisOne}`,
  );
  return answer;
}

/**
 * Decrypts a stored answer. Only the credential that received it can do so: a key and its session cannot read each
 * other's answers.
 */
function openedAnswer(sealed: string, secret: string): unknown {
  let text: string;
  try {
    text = unseal(sealed, secret);
  } catch (cause) {
    throw new ApiError(
      'conflict',
      'the Idempotency-Key was used with another credential, which alone can read the answer again',
      { cause },
    );
  }
  return JSON.parse(text);
}

/** SQLSTATE of a statement that `statement_timeout` ended. */
const QUERY_CANCELED = '57014';

const otherBody = () => new ApiError('conflict', 'the Idempotency-Key was used with another body');
