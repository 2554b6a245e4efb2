import { isAscii, isUtf8 } from 'node:buffer';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { BodyBytes, freeBytes } from './body-bytes.js';
import { ApiError } from '../errors.js';
import { dtoParameters } from './handler-dtos.js';
import {
  declaredBytes,
  contentEncoding,
  type WithHeaders,
  HELD_RATE,
  inflaterBytes,
  readInflated,
  tooLarge,
} from './inflated-body.js';
import type { Context } from './context.js';
import { JsonScanner, NotJson } from '../json/json-scanner.js';
import { parsedBytes } from '../json/json-weight.js';
import { keepLongLiterals } from './long-literals.js';
import { EventLoopTurn } from '../time/event-loop-turn.js';
import { notUtf8 } from './utf8-check.js';
import { assertValid, type Dto, validate } from './validation.js';

/**
 * Reads, inflates, parses and validates the body of a route by the DTO of its `@Body()` parameter. Notes the projects
 * that body and query name. The guard runs after authentication: a caller without a key cannot make the service read a
 * body, and memory for a body is charged to its key. A DTO without rules is an error: nothing passes unchecked.
 */
@Injectable()
export class BodyGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { body, query } = handlerDtos(context);
    const request = context.switchToHttp().getRequest<Request>();
    const own = request.context;
    if (query) own.projects = validate(query, request.query).projects; // `QueryPipe` reports the faults
    if (!body) return true;
    assertJson(request);
    own.bodyText = await jsonText(own, await readBytes(own));
    request.body = parseJson(own.bodyText);
    keepLongLiterals(request.body, own.bodyText);
    const projects = assertValid(body, request.body);
    own.projects = query ? [...own.projects, ...projects] : projects;
    return true;
  }
}

const known = new WeakMap<object, { body: Dto | undefined; query: Dto | undefined }>();

function handlerDtos(context: ExecutionContext) {
  const handler = context.getHandler();
  let dtos = known.get(handler);
  if (!dtos) {
    const parameters = dtoParameters(context.getClass(), handler);
    const findDto = (isBody: boolean) =>
      parameters.find((parameter) => parameter.isBody === isBody)?.dto;
    known.set(handler, (dtos = { body: findDto(true), query: findDto(false) }));
  }
  return dtos;
}

/** @throws ApiError `unsupported_media_type` when the body is not declared to be JSON. */
export function assertJson(request: WithHeaders, wanted = 'application/json'): void {
  const [type, charset] = readMediaType(request);
  if (!/^application\/(json|[\w.+-]+\+json)$/.test(type) || charset !== 'utf-8')
    throw new ApiError(
      'unsupported_media_type',
      `the header Content-Type must be ${wanted}, in UTF-8`,
    );
}

/** Memory per byte while a body is read: its bytes, and the chunks they arrived in, which V8 collects later. */
const RAW_WEIGHT = 2;

/** Reads and inflates the body. `MAX_BODY_BYTES` limits the inflated bytes; inflating stops at that limit. */
export async function readBytes(context: Context): Promise<Buffer> {
  const { request, hold } = context;
  const limit = context.bodies.maxBytes;
  const encoding = contentEncoding(request);
  const declared = declaredBytes(request, encoding);
  if (declared !== undefined && declared > limit) throw tooLarge(limit);
  const waiting = hold.set((declared ?? 0) * RAW_WEIGHT + inflaterBytes(encoding));
  if (waiting) await waiting;
  // Most bodies arrive with their headers, in one packet. Node may not have seen their end yet.
  if (request.readableLength === declared) {
    const bytes = (request.read() as Buffer | null) ?? NOTHING;
    request.resume();
    return bytes;
  }
  const body = new BodyBytes(limit);
  let heldBytes = declared ?? 0;
  try {
    await readInflated(context, { limit, rate: HELD_RATE }, (chunk) => {
      body.add(chunk);
      if (body.length <= heldBytes) return undefined;
      const more = body.length - heldBytes + HELD_AHEAD;
      heldBytes += more;
      return hold.add(more * RAW_WEIGHT);
    });
    return body.joined();
  } catch (error) {
    freeBytes(body.joined());
    throw error;
  }
}

/** Bytes that a body of unknown length reserves at a time, so that small chunks do not each reserve memory. */
const HELD_AHEAD = 16 * 1024;
const NOTHING = Buffer.alloc(0);

/** Decodes the bytes of a JSON body, and reserves the memory of its parsed copy. */
export async function jsonText({ hold }: Context, bytes: Buffer): Promise<string> {
  const turn = new EventLoopTurn();
  let bytesPerCharacter = 1;
  let text: string;
  try {
    const isPlain = bytes.length > 0 && isAscii(bytes);
    if (!isPlain) {
      assertUtf8(bytes);
      bytesPerCharacter = 2;
    }
    const waiting = hold.add(bytes.length * bytesPerCharacter);
    if (waiting) await waiting;
    text = bytes.toString(isPlain ? 'latin1' : 'utf8'); // the same for ASCII, and latin1 needs no decoding
  } finally {
    freeBytes(bytes);
  }
  const parsing = hold.add(parsedBytes(text, bytesPerCharacter));
  if (parsing) await parsing;
  if (turn.isOver) await turn.next(); // parsing may take as long again
  return text;
}

/** @throws ApiError `invalid_json` when the body is empty or not UTF-8. */
export function assertUtf8(bytes: Buffer): void {
  if (bytes.length === 0) throw new ApiError('invalid_json', 'the body is empty');
  if (!isUtf8(bytes)) throw notUtf8();
}

/** Returns type and charset in lower case. The charset is UTF-8 unless the header names another. */
export function readMediaType({ headers }: WithHeaders): [type: string, charset: string] {
  const header = headers['content-type'] ?? '';
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  const charset = parameters.map((text) => /^\s*charset="?([^"\s]*)"?\s*$/.exec(text)?.[1]);
  return [
    type.trim(),
    charset.find((name) => name !== undefined)?.replace(/^utf8$/, 'utf-8') ?? 'utf-8',
  ];
}

/** Parses JSON, and refuses invalid text with an error for the client. */
export function parseJson(text: string, reviver?: Parameters<typeof JSON.parse>[1]): unknown {
  try {
    return JSON.parse(text, reviver);
  } catch {
    throw new ApiError('invalid_json', `the body is not valid JSON${errorPosition(text)}`);
  }
}

/** Most characters that are searched for the error, because the search takes about as long as parsing. */
const SEARCHED_LENGTH = 1024 * 1024;

/**
 * Returns the position at which a text stops being JSON. Messages of `JSON.parse` rarely contain it, and repeat the
 * text.
 */
function errorPosition(text: string): string {
  try {
    const scanner = new JsonScanner({ valueStart() {}, valueEnd() {}, key() {} });
    scanner.write(Buffer.from(text.slice(0, SEARCHED_LENGTH)));
    if (text.length <= SEARCHED_LENGTH) scanner.end();
  } catch (error) {
    if (error instanceof NotJson) return `, at byte ${error.at}`;
  }
  return '';
}
