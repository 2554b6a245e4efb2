import { AsyncResource } from 'node:async_hooks';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { PassThrough, type Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { Database } from '../../platform/database/database.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import type { Context } from '../../platform/http/context.js';
import { isProjectId } from '../../platform/http/dto.js';
import { readInflated, STREAMED_RATE } from '../../platform/http/inflated-body.js';
import { FilesService, MAX_FILE_BYTES } from '../../tracing/objects/files/files.service.js';
import { Media } from './media.entity.js';
import type { MediaDto, MediaReportDto, MediaUploadDto, MediaUploadUrlDto } from './media.dto.js';
import { announceMediaQuery, keepMediaQuery } from './media.query.js';

const URL_SECONDS = 60 * 60;
const ID_LENGTH = 22;
const SECRET_BYTES = 32;
/** Memory that is reserved for an upload: a few chunks. */
const UPLOAD_BYTES = 1024 * 1024;

type Method = 'GET' | 'PUT';

/**
 * Stores media that SDKs take out of documents. SDKs send no key with the bytes, so the URLs are signed with a secret
 * of the media row. For an hour, such a URL stores exactly the announced bytes, or reads them.
 */
@Injectable()
export class MediaService {
  constructor(
    private readonly database: Database,
    private readonly files: FilesService,
    @Inject(CONFIG) private readonly config: Pick<Config, 'publicUrl' | 'bodyTimeoutSeconds'>,
  ) {}

  /** @throws ApiError `too_large`, `invalid_request`, `conflict` */
  async announce(
    body: MediaUploadDto,
    projectId: string,
    context: Context,
  ): Promise<MediaUploadUrlDto> {
    const { contentLength, contentType, sha256Hash } = body;
    if (contentLength > MAX_FILE_BYTES)
      throw new ApiError(
        'too_large',
        `contentLength is ${contentLength}, over the limit of ${MAX_FILE_BYTES} bytes`,
      );
    if (!body.traceId && !(body.datasetId && body.datasetItemId))
      throw invalidRequest([
        {
          path: 'traceId',
          message: 'must name the trace, unless datasetId and datasetItemId name an item',
        },
      ]);
    const id = Buffer.from(sha256Hash, 'base64').toString('base64url').slice(0, ID_LENGTH);
    await context.caller.assertValid();
    const [media] = await this.database.query(
      announceMediaQuery({
        projectId,
        id,
        contentType,
        sizeBytes: contentLength,
        sha256: sha256Hash,
        secret: randomBytes(SECRET_BYTES),
      }),
    );
    if (media!.sha256 !== sha256Hash || media!.size_bytes !== contentLength)
      throw new ApiError(
        'conflict',
        `the medium ${id} is stored with ${media!.size_bytes} bytes and the sha256Hash ${media!.sha256}`,
      );
    const { url } = this.signedUrl('PUT', { projectId, id, secret: media!.secret }, context);
    return { mediaId: id, uploadUrl: media!.is_here ? null : url };
  }

  /**
   * Stores the bytes that were announced.
   * @throws ApiError `forbidden`, `too_large`, `invalid_request`
   */
  async upload(id: string, context: Context): Promise<void> {
    const media = await this.signedMedia('PUT', id, context);
    const { projectId, sha256, sizeBytes } = media;
    assertHeaders(context, media);
    await context.hold.set(UPLOAD_BYTES);
    await this.inShareOf(projectId, async () => {
      const digest = await this.receive(context, sizeBytes, (bytes) =>
        this.files.storeAnnounced(projectId, bytes, { sha256, sizeBytes }),
      );
      await this.database.query(keepMediaQuery({ projectId, id, sha256, digest }));
    });
  }

  /**
   * Checks the reported result of an upload. Nothing is stored, because the service knows the result already.
   * @throws ApiError `not_found`, `conflict`
   */
  async report(id: string, { uploadHttpStatus }: MediaReportDto, projectId: string): Promise<void> {
    const media = await this.find(projectId, id);
    if (!media) throw notFound(id);
    const isClaimed = uploadHttpStatus >= 200 && uploadHttpStatus < 300;
    if (isClaimed && media.digest === null)
      throw new ApiError('conflict', `the bytes of the medium ${id} were not uploaded yet`);
  }

  /** @throws ApiError `not_found` */
  async read(id: string, projectId: string, context: Context): Promise<MediaDto> {
    const media = await this.find(projectId, id);
    if (!media?.uploadedAt) throw notFound(id);
    const { url, expires } = this.signedUrl('GET', media, context);
    return {
      mediaId: id,
      contentType: media.contentType,
      contentLength: media.sizeBytes,
      uploadedAt: media.uploadedAt.toISOString(),
      url,
      urlExpiry: new Date(expires * 1000).toISOString(),
    };
  }

  /** @throws ApiError `forbidden`, `not_found` */
  async content(
    id: string,
    context: Context,
  ): Promise<{ bytes: Readable; length: number; contentType: string }> {
    const { projectId, digest, contentType } = await this.signedMedia('GET', id, context);
    if (digest === null) throw notFound(id);
    const file = await this.inShareOf(projectId, () =>
      this.files.content({ project_id: projectId, digest }),
    );
    return { ...file, contentType };
  }

  /** Passes the body to `take` while it arrives. A failure on either side ends both. */
  private async receive<T>(
    context: Context,
    limit: number,
    take: (bytes: Readable) => Promise<T>,
  ): Promise<T> {
    const bytes = new PassThrough();
    bytes.on('error', () => {}); // `take` receives the error too
    const failure = new AbortController();
    const taken = take(bytes);
    taken.catch((error: unknown) => failure.abort(error));
    try {
      await readInflated(
        context,
        {
          limit,
          rate: STREAMED_RATE,
          timeoutMs: this.config.bodyTimeoutSeconds * 1000,
          signal: failure.signal,
        },
        AsyncResource.bind((chunk: Buffer) =>
          bytes.write(chunk)
            ? undefined
            : new Promise<void>((resolve) => bytes.once('drain', resolve)),
        ),
      );
    } catch (error) {
      bytes.destroy(error as Error);
      await taken.catch(() => {});
      throw error;
    }
    bytes.end();
    return taken;
  }

  private inShareOf<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    return this.database.scope.run({ owner: () => `${projectId.split('/')[0]!}/media` }, work);
  }

  private find(projectId: string, id: string): Promise<Media | null> {
    return this.database.repository(Media).findOneBy({ projectId, id });
  }

  private signedUrl(
    method: Method,
    { projectId, id, secret }: Pick<Media, 'projectId' | 'id' | 'secret'>,
    context: Context,
  ): { url: string; expires: number } {
    const expires = Math.floor(Date.now() / 1000) + URL_SECONDS;
    const signature = signatureOf(method, { projectId, id, secret }, expires).toString('base64url');
    const url = new URL(`/api/public/media/${id}/content`, this.config.publicUrl ?? context.origin);
    for (const [name, value] of Object.entries({ project_id: projectId, expires, signature }))
      url.searchParams.set(name, String(value));
    return { url: url.href, expires };
  }

  /**
   * Returns the media row that a signed URL names.
   * @throws ApiError `forbidden`
   */
  private async signedMedia(method: Method, id: string, { url }: Context): Promise<Media> {
    const asked = new URL(url, 'http://here.invalid').searchParams;
    const [projectId, text, signature] = ['project_id', 'expires', 'signature'].map((name) =>
      asked.get(name),
    );
    const expires = Number(text);
    if (!isProjectId(projectId) || !signature || !Number.isSafeInteger(expires))
      throw new ApiError('forbidden', NO_SIGNATURE);
    if (expires * 1000 < Date.now()) throw new ApiError('forbidden', 'the URL has expired');
    const media = await this.find(projectId, id);
    const sent = Buffer.from(signature, 'base64url');
    const expected = media && signatureOf(method, media, expires);
    if (!expected || sent.length !== expected.length || !timingSafeEqual(sent, expected))
      throw new ApiError('forbidden', NO_SIGNATURE);
    return media;
  }
}

const NO_SIGNATURE =
  'the URL must be one that POST or GET /api/public/media has signed, for the same method';

const signatureOf = (
  method: Method,
  { projectId, id, secret }: Pick<Media, 'projectId' | 'id' | 'secret'>,
  expires: number,
): Buffer =>
  createHmac('sha256', secret)
    .update(JSON.stringify([method, projectId, id, expires]))
    .digest();

const notFound = (id: string) =>
  new ApiError('not_found', `there is no medium ${id}, or its bytes were not uploaded`);

/**
 * Refuses an upload before its bytes are read, if its headers differ from the announcement.
 * @throws ApiError `invalid_request`
 */
function assertHeaders({ headers }: Context, { sha256, sizeBytes }: Media): void {
  const violations = [
    { path: 'content-length', sent: headers['content-length'], announced: String(sizeBytes) },
    { path: 'x-amz-checksum-sha256', sent: headers['x-amz-checksum-sha256'], announced: sha256 },
  ]
    .filter(({ sent, announced }) => sent !== undefined && sent !== announced)
    .map(({ path, announced }) => ({ path, message: `must be ${announced}, as it was announced` }));
  if (violations.length > 0 && headers['content-encoding'] === undefined)
    throw invalidRequest(violations);
}
