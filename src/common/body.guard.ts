import { isAscii, isUtf8 } from 'node:buffer';
import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
} from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import type { Request, Response } from 'express';
import express from 'express';
import { config } from '../config.js';
import { ApiError, invalidRequest } from './errors.js';
import { type Dto, validate } from './validation.js';

declare module 'http' {
  interface IncomingMessage {
    /** The inflated body as it was sent; `body` is its parsed copy. */
    bodyText: string;
    /** Projects the body names in fields marked `@IsProjectId()`. */
    projects: string[];
  }
}

/** The body as it was sent, for what must come back byte for byte. */
export const BodyText = createParamDecorator(
  (_: unknown, context: ExecutionContext): string =>
    context.switchToHttp().getRequest<Request>().bodyText,
);

/**
 * Reads, inflates, parses and validates the body of a route that takes one, by the DTO of its `@Body()` parameter.
 * It is a guard, and stands behind the one that authenticates: who has no key sends no 32 MiB.
 */
@Injectable()
export class BodyGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const dto = bodyDto(context);
    if (!dto) return true;
    const request = context.switchToHttp().getRequest<Request>();
    assertJson(request);
    request.bodyText = utf8(
      await readBytes(request, context.switchToHttp().getResponse<Response>()),
    );
    request.body = parseJson(request.bodyText);
    const { violations, projects } = validate(dto, request.body);
    if (violations.length > 0) throw invalidRequest(violations);
    request.projects = projects;
    return true;
  }
}

const bodyDtos = new WeakMap<object, Dto | null>();
const BODY_PARAMETER = '3'; // RouteParamtypes.BODY

/** The class of the `@Body()` parameter of a handler, as `@nestjs/swagger` finds it; null where there is none. */
function bodyDto(context: ExecutionContext): Dto | null {
  const handler = context.getHandler();
  let dto = bodyDtos.get(handler);
  if (dto === undefined) {
    const target = context.getClass();
    const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, target, handler.name) ?? {};
    const key = Object.keys(parameters).find((name) => name.split(':')[0] === BODY_PARAMETER);
    const types = Reflect.getMetadata('design:paramtypes', target.prototype, handler.name) ?? [];
    dto = key === undefined ? null : (types[parameters[key].index] as Dto);
    bodyDtos.set(handler, dto);
  }
  return dto;
}

/** @throws ApiError `unsupported_media_type` when the body is not declared to be JSON. */
export function assertJson(request: Request, wanted = 'application/json'): void {
  const [type, charset] = mediaTypeOf(request);
  if (!/^application\/(json|[\w.+-]+\+json)$/.test(type) || charset !== 'utf-8')
    throw new ApiError(
      'unsupported_media_type',
      `the header Content-Type must be ${wanted}, in UTF-8`,
    );
}

const read = express.raw({ type: () => true, limit: config.maxBodyBytes });

/** The body, inflated. The limit, `MAX_BODY_BYTES`, counts inflated bytes, and stops the inflating. */
export async function readBytes(request: Request, response: Response): Promise<Buffer> {
  await new Promise<void>((resolve, reject) => {
    read(request, response, (error?: unknown) => (error ? reject(bodyError(error)) : resolve()));
  });
  return (request.body as Buffer | undefined) ?? Buffer.alloc(0);
}

/** The text of a body that is to be JSON. */
export function utf8(bytes: Buffer): string {
  assertUtf8(bytes);
  if (isAscii(bytes)) return bytes.toString('latin1'); // the same text, without decoding
  return bytes.toString('utf8');
}

/** @throws ApiError `invalid_json` when the body is empty or not UTF-8. */
export function assertUtf8(bytes: Buffer): void {
  if (bytes.length === 0) throw new ApiError('invalid_json', 'the body is empty');
  if (!isUtf8(bytes)) throw new ApiError('invalid_json', 'the body is not UTF-8');
}

/** Type and charset in lower case; the charset of JSON is UTF-8 unless it says otherwise. */
export function mediaTypeOf(request: Request): [type: string, charset: string] {
  const header = request.headers['content-type'] ?? '';
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  const charset = parameters.map((text) => /^\s*charset="?([^"\s]*)"?\s*$/.exec(text)?.[1]);
  return [
    type.trim(),
    charset.find((name) => name !== undefined)?.replace(/^utf8$/, 'utf-8') ?? 'utf-8',
  ];
}

/** An error of zlib means that the body does not inflate; the others carry the status they mean. */
export function bodyError(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && /^Z_|^ERR_(BROTLI|_?PADDING)|^ERR__ERROR/.test(code))
    return new ApiError('invalid_json', 'the body does not inflate by its Content-Encoding');
  return error;
}

/** `JSON.parse`, with the refusal that a client sees. */
export function parseJson(text: string, reviver?: Parameters<typeof JSON.parse>[1]): unknown {
  try {
    return JSON.parse(text, reviver);
  } catch (error) {
    const where = /position \d+( \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0];
    throw new ApiError('invalid_json', `the body is not valid JSON${where ? `, at ${where}` : ''}`);
  }
}
