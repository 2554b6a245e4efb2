import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import type { S3Settings } from '../config/backup-settings.js';

/** Most tries of a request, with growing waits: about 12 s in all. */
const TRIES = 6;
const FIRST_WAIT_MS = 400;
/** How long a server may be silent. */
const SILENCE_MS = 300_000;

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Buffer;
  signal?: AbortSignal | undefined;
  /** Statuses other than 2xx that are returned instead of thrown. */
  tolerated?: number[];
}

class S3Refusal extends Error {
  constructor(
    readonly status: number,
    what: string,
    readonly code: string,
    detail: string,
  ) {
    super(`${what}: the server answers ${status} ${code}${detail && `, ${detail}`}`);
  }
}

/** Sends signed requests to a bucket, and repeats those that failed because of the network or a busy server. */
export class S3Bucket {
  private readonly base: string;

  constructor(
    private readonly bucket: string,
    private readonly s3: S3Settings,
  ) {
    const { endpoint = `https://s3.${s3.region}.amazonaws.com`, isPathStyle } = s3;
    this.base = isPathStyle
      ? `${endpoint}/${bucket}`
      : endpoint.replace('://', `://${encodeURIComponent(bucket)}.`);
  }

  /** @throws Error that can be shown to users: it names the bucket and the server's message, and no secret. */
  async send(request: S3Request): Promise<Response> {
    for (let tried = 1, waitMs = FIRST_WAIT_MS; ; tried++, waitMs *= 2) {
      try {
        return await this.once(request);
      } catch (error) {
        request.signal?.throwIfAborted();
        if (tried === TRIES || !isTransient(error)) throw this.explained(error, request);
      }
      await delay(waitMs, undefined, { signal: request.signal });
    }
  }

  private async once(request: S3Request): Promise<Response> {
    const { method, key = '', query = {}, body, tolerated = [] } = request;
    const response = await answerTo(await this.signed(request), body, request.signal);
    if (response.ok || tolerated.includes(response.status)) return response;
    const text = await response.text().catch(() => '');
    const [first = ''] = Object.keys(query);
    throw new S3Refusal(
      response.status,
      `s3://${this.bucket}/${key}${first && ` (${method} ?${first})`}`,
      xmlElements(text, 'Code')[0] ?? response.statusText,
      xmlElements(text, 'Message')[0] ?? '',
    );
  }

  private async signed({ method, key = '', query = {}, headers, body }: S3Request) {
    const { accessKeyId, secretAccessKey, sessionToken, region } = this.s3;
    if (!accessKeyId || !secretAccessKey)
      throw new Error(
        `s3://${this.bucket} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the same names with _FILE`,
      );
    const path = key.split('/').map(escaped).join('/');
    const search = new URLSearchParams(query).toString().replaceAll('+', '%20');
    const signer = new AwsV4Signer({
      method,
      url: `${this.base}/${path}${search && `?${search}`}`,
      // the hash of the content is signed, so damage on the way is refused
      headers: { ...headers, 'x-amz-content-sha256': sha256(body ?? '') },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken && { sessionToken }),
      service: 's3',
      region,
    });
    return signer.sign();
  }

  private explained(error: unknown, { key = '' }: S3Request): Error {
    if (error instanceof S3Refusal) return new Error(error.message, { cause: error });
    const { message, code } = error as NodeJS.ErrnoException;
    const why = message || code;
    return new Error(`s3://${this.bucket}/${key}: ${why}`, { cause: error });
  }
}

/**
 * Sends a request by the client of `node:http`. With the `fetch` of Node 24 the process ends when a server closes the
 * connection of an answer that is read slowly (nodejs/undici 5360).
 */
async function answerTo(
  { method, url, headers }: Awaited<ReturnType<AwsV4Signer['sign']>>,
  body: Buffer | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const request = (url.protocol === 'https:' ? requestSecure : requestPlain)(url, {
    method,
    headers: Object.fromEntries(headers),
    timeout: SILENCE_MS,
    ...(signal && { signal }),
  });
  request.on('error', () => {}); // one during the answer reaches its reader
  request.on('timeout', () =>
    request.destroy(Object.assign(new Error('the server is silent'), { code: 'ETIMEDOUT' })),
  );
  request.end(body);
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const { statusCode: status = 500, statusMessage: statusText = '' } = answer;
  const etag = answer.headers.etag ?? '';
  const content = status === 204 ? null : (Readable.toWeb(answer) as ReadableStream);
  return new Response(content, { status, statusText, headers: { etag } });
}

/**
 * Escapes every character of a path except letters, digits and `-_.~`, so that all servers compute the same signature.
 */
const escaped = (text: string) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const sha256 = (body: Buffer | string) => createHash('sha256').update(body).digest('hex');

/** Returns true for errors that a retry may solve: a failed network (which has a code), or a busy or failing server. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof S3Refusal)) return (error as NodeJS.ErrnoException).code !== undefined;
  return error.status >= 500 || error.status === 429 || error.code === 'RequestTimeout';
}

/**
 * Returns the content of all elements with this name, as text. It suffices for S3's answers, in which elements of one
 * name do not nest.
 */
export function xmlElements(xml: string, name: string): string[] {
  const elements = xml.matchAll(new RegExp(`<${name}>([^]*?)</${name}>`, 'g'));
  return [...elements].map(([, text = '']) => text);
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** Decodes the text of an element without child elements. */
export const xmlText = (xml: string): string =>
  xml.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, name: string) => {
    if (decimal) return String.fromCodePoint(Number(decimal));
    if (hex) return String.fromCodePoint(Number.parseInt(hex as string, 16));
    return ENTITIES[name] ?? whole;
  });
