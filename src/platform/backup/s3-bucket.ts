import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import type { S3Settings } from '../config/backup-settings.js';

/** A request is tried so often, with longer and longer waits: about 12 s in all. */
const TRIES = 6;
const FIRST_WAIT_MS = 400;

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Buffer;
  signal?: AbortSignal | undefined;
  /** Statuses that are an answer like any other. */
  tolerated?: number[];
}

/** What a server answers that does not do what it was asked for. */
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

/** Sends signed requests to a bucket, and tries again what a network or a busy server has failed. */
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

  /** @throws Error that can be shown as it is: it names the bucket and what the server said, and no secret. */
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
      // the sum of the content is signed, so what is damaged on the way is refused
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

/** Nothing but letters, digits and `-_.~` stands in a path as it is, so that all servers sign the same. */
const escaped = (text: string) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const sha256 = (body: Buffer | string) => createHash('sha256').update(body).digest('hex');

/** A network that failed (fetch throws a TypeError), a server that is busy or failed itself. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof S3Refusal)) return error instanceof TypeError;
  return error.status >= 500 || error.status === 429 || error.code === 'RequestTimeout';
}

/** What stands in the elements of a name, as text. Enough for the answers of S3, whose elements of a name do not nest. */
export function xmlElements(xml: string, name: string): string[] {
  const elements = xml.matchAll(new RegExp(`<${name}>([^]*?)</${name}>`, 'g'));
  return [...elements].map(([, text = '']) => text);
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** Of an element without others in it. */
export const xmlText = (xml: string): string =>
  xml.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, name: string) => {
    if (decimal) return String.fromCodePoint(Number(decimal));
    if (hex) return String.fromCodePoint(Number.parseInt(hex as string, 16));
    return ENTITIES[name] ?? whole;
  });
