import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import type { S3Settings } from '../config/backup-settings.js';

/** Most tries of a request, with growing waits: about 12 s in all. */
const TRIES = 6;
const FIRST_WAIT_MS = 400;

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
    const response = await fetch(await this.signed(request), {
      signal: request.signal ?? null,
      // the body of an upload is a buffer, which a retry sends again
      ...(body && { body: body as Uint8Array<ArrayBuffer> }),
      redirect: 'manual',
    });
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
    const signed = await signer.sign();
    return new Request(signed.url, { method, headers: signed.headers });
  }

  private explained(error: unknown, { key = '' }: S3Request): Error {
    if (error instanceof S3Refusal) return new Error(error.message, { cause: error });
    const { message, cause } = error as Error;
    const why = (cause as Error | undefined)?.message || message;
    return new Error(`s3://${this.bucket}/${key}: ${why}`, { cause: error });
  }
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

/**
 * Returns true for errors that a retry may solve: a failed network (fetch throws a TypeError), or a busy or failing
 * server.
 */
function isTransient(error: unknown): boolean {
  if (!(error instanceof S3Refusal)) return error instanceof TypeError;
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
