import type { S3Settings } from '../config/backup-settings.js';
import type { ByteStream, BackupStorage, StoredFile } from './backup-storage.js';
import { xmlText, S3Bucket, xmlElements } from './s3-bucket.js';

const MIB = 1024 * 1024;
/**
 * Size of a part. An upload has at most 10,000 parts: 16 GB in small ones, then 576 GB in large ones. Two are in memory
 * at once.
 */
const partBytes = (number: number) => (number <= 1000 ? 16 : 64) * MIB;
/** Most times that a download resumes in a row without receiving a byte. */
const RESUMES = 5;
const DRAFT_AGE_MS = 86_400_000;

/**
 * Stores backups under a prefix of a bucket, on any server that supports S3. A file is one object. A large file is
 * uploaded in parts, and becomes an object with the last part. An interrupted upload is aborted with its parts.
 */
export class S3Storage implements BackupStorage {
  private readonly bucket: S3Bucket;
  private readonly name: string;
  /** Empty, or ends with a slash. */
  private readonly prefix: string;

  constructor(url: string, s3: S3Settings) {
    const [, bucket = '', path = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/*$/.exec(url) ?? [];
    this.name = bucket;
    this.prefix = path && `${path}/`;
    this.bucket = new S3Bucket(bucket, s3);
  }

  show(name: string): string {
    return `s3://${this.name}/${this.prefix}${name}`;
  }

  async list(folder = ''): Promise<StoredFile[]> {
    const prefix = this.key(folder && `${folder}/`);
    const files: StoredFile[] = [];
    let token: string | undefined = '';
    while (token !== undefined) {
      const xml: string = await this.answer({
        'list-type': '2',
        delimiter: '/',
        prefix,
        ...(token && { 'continuation-token': token }),
      });
      for (const object of xmlElements(xml, 'Contents'))
        files.push({
          name: xmlText(xmlElements(object, 'Key')[0]!).slice(prefix.length),
          bytes: Number(xmlElements(object, 'Size')[0]),
          changed: new Date(xmlElements(object, 'LastModified')[0]!),
        });
      const [next] = xmlElements(xml, 'NextContinuationToken');
      token = next && xmlText(next);
    }
    return files;
  }

  async has(name: string): Promise<boolean> {
    const request = { method: 'HEAD' as const, key: this.key(name), tolerated: [404] };
    return (await this.bucket.send(request)).ok;
  }

  async write(name: string, bytes: ByteStream, signal?: AbortSignal): Promise<number> {
    const parts = partsIn(bytes, signal);
    const first = await parts.next();
    const key = this.key(name);
    if (first.done || first.value.isLast) {
      const body = first.value?.body ?? Buffer.alloc(0);
      await this.bucket.send({ method: 'PUT', key, body, signal });
      return body.length;
    }
    const begun = await this.bucket.send({ method: 'POST', key, query: { uploads: '' }, signal });
    const [uploadId] = xmlElements(await begun.text(), 'UploadId').map(xmlText);
    if (!uploadId) throw new Error(`${this.show(name)}: the server did not start the upload`);
    const upload = new MultipartUpload(this.bucket, key, uploadId, signal);
    try {
      upload.add(first.value.body);
      for await (const { body } of parts) {
        await upload.sent();
        upload.add(body);
      }
      return await upload.complete();
    } catch (error) {
      await this.giveUp(key, uploadId).catch(() => {}); // the original error is more useful
      throw error;
    }
  }

  async *read(name: string): ByteStream {
    const key = this.key(name);
    let at = 0;
    let etag = '';
    for (let resumed = 0; ; resumed++) {
      const headers: Record<string, string> =
        at > 0 ? { range: `bytes=${at}-`, 'if-match': etag } : {};
      const response = await this.bucket.send({ method: 'GET', key, headers });
      etag ||= response.headers.get('etag') ?? '';
      try {
        for await (const piece of response.body as AsyncIterable<Uint8Array>) {
          at += piece.length;
          resumed = 0;
          yield piece;
        }
        return;
      } catch (error) {
        if (resumed === RESUMES || !etag)
          throw new Error(`${this.show(name)} was cut: ${(error as Error).message}`, {
            cause: error,
          });
      }
    }
  }

  async remove(name: string): Promise<void> {
    await this.bucket.send({ method: 'DELETE', key: this.key(name), tolerated: [404] });
  }

  async removeDrafts(): Promise<string[]> {
    const xml = await this.answer({ uploads: '', prefix: this.prefix });
    const old = xmlElements(xml, 'Upload').filter(
      (upload) => Date.now() - Date.parse(xmlElements(upload, 'Initiated')[0] ?? '') > DRAFT_AGE_MS,
    );
    const removed: string[] = [];
    for (const upload of old) {
      const [key, id] = [xmlElements(upload, 'Key'), xmlElements(upload, 'UploadId')].map((texts) =>
        xmlText(texts[0] ?? ''),
      );
      if (!/^(skein|wal)-/.test(key!.slice(this.prefix.length))) continue;
      await this.giveUp(key!, id!);
      removed.push(`${key} (an upload that was interrupted)`);
    }
    return removed;
  }

  private key(name: string): string {
    return this.prefix + name;
  }

  private async answer(query: Record<string, string>): Promise<string> {
    return (await this.bucket.send({ method: 'GET', query })).text();
  }

  private async giveUp(key: string, uploadId: string): Promise<void> {
    await this.bucket.send({ method: 'DELETE', key, query: { uploadId }, tolerated: [404] });
  }
}

/** Sends parts one after the other, each while the next one is collected. */
class MultipartUpload {
  private readonly etags: Promise<string>[] = [];
  private bytes = 0;

  constructor(
    private readonly bucket: S3Bucket,
    private readonly key: string,
    private readonly uploadId: string,
    private readonly signal: AbortSignal | undefined,
  ) {}

  add(body: Buffer): void {
    this.bytes += body.length;
    const etag = this.send(body, this.etags.length + 1);
    etag.catch(() => {}); // `sent` reports the error
    this.etags.push(etag);
  }

  async sent(): Promise<void> {
    await this.etags.at(-1);
  }

  async complete(): Promise<number> {
    const parts = (await Promise.all(this.etags)).map(
      (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
    );
    const xml = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`;
    const { bucket, key, uploadId, signal } = this;
    const query = { uploadId };
    const request = { method: 'POST', key, query, body: Buffer.from(xml), signal } as const;
    const answer = await (await bucket.send(request)).text();
    // the server sends the status before it has joined the parts
    if (!answer.includes('<ETag>'))
      throw new Error(
        `${key}: the server did not store it: ${xmlElements(answer, 'Message')[0] ?? answer}`,
      );
    return this.bytes;
  }

  private async send(body: Buffer, number: number): Promise<string> {
    const { bucket, key, uploadId, signal } = this;
    const query = { partNumber: String(number), uploadId };
    const response = await bucket.send({ method: 'PUT', key, query, body, signal });
    return (response.headers.get('etag') ?? '').replaceAll('"', '&quot;');
  }
}

async function* partsIn(bytes: ByteStream, signal: AbortSignal | undefined) {
  let pieces: Uint8Array[] = [];
  let gathered = 0;
  let number = 1;
  for await (const piece of bytes) {
    signal?.throwIfAborted();
    pieces.push(piece);
    gathered += piece.length;
    if (gathered < partBytes(number)) continue;
    yield { body: Buffer.concat(pieces), isLast: false };
    number++;
    [pieces, gathered] = [[], 0];
  }
  if (gathered > 0) yield { body: Buffer.concat(pieces), isLast: true };
}
