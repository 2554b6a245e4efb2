import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

const PAGE = 2;

/**
 * An S3 server in memory with the operations that backups use, and short pages. It checks the signed checksums of
 * bodies, but no signatures: `backups-s3.long-spec.ts` uses a real server. `fail` runs before each request and may
 * answer it.
 */
export async function startS3() {
  const objects = new Map<string, Buffer>();
  const uploads = new Map<string, { key: string; parts: Buffer[]; begun: Date }>();
  const s3 = {
    objects,
    uploads,
    url: '',
    requests: [] as string[],
    fail: (_request: IncomingMessage, _response: ServerResponse): boolean => false,
    stop: () => server.close(),
  };
  const server = createServer((request, response) => {
    s3.requests.push(`${request.method} ${request.url}`);
    if (s3.fail(request, response)) return;
    void buffer(request).then((body) => answer(request, response, body));
  });
  const answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => {
    const url = new URL(request.url!, 'http://s3');
    const key = decodeURIComponent(url.pathname).replace(/^\/bucket\/?/, '');
    const [query, method] = [url.searchParams, request.method!];
    if (createHash('sha256').update(body).digest('hex') !== request.headers['x-amz-content-sha256'])
      return refuse(response, 400, 'XAmzContentSHA256Mismatch');
    if (!key && method === 'GET')
      return response.end(query.has('uploads') ? uploadsXml() : listXml(query));
    if (query.has('uploads')) {
      const id = `id-${uploads.size}`;
      uploads.set(id, { key, parts: [], begun: new Date() });
      return response.end(`<UploadId>${id}</UploadId>`);
    }
    const upload = query.get('uploadId');
    return upload === null
      ? answerObject({ method, key, body }, request, response)
      : answerUpload({ method, id: upload, body }, query, response);
  };
  const answerUpload = (
    { method, id, body }: { method: string; id: string; body: Buffer },
    query: URLSearchParams,
    response: ServerResponse,
  ) => {
    const upload = uploads.get(id)!;
    if (method === 'PUT') {
      const number = Number(query.get('partNumber'));
      upload.parts[number - 1] = body;
      return response.setHeader('etag', `"part-${number}"`).end();
    }
    uploads.delete(id);
    if (method === 'POST') objects.set(upload.key, Buffer.concat(upload.parts));
    return response.end(method === 'POST' ? '<ETag>"whole"</ETag>' : '');
  };
  const answerObject = (
    { method, key, body }: { method: string; key: string; body: Buffer },
    { headers }: IncomingMessage,
    response: ServerResponse,
  ) => {
    if (method === 'PUT') objects.set(key, body);
    if (method === 'DELETE') objects.delete(key);
    const found = objects.get(key);
    if (!found && method !== 'DELETE') return refuse(response, 404, 'NoSuchKey');
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
    response.setHeader('etag', '"one"').statusCode = from > 0 ? 206 : 200;
    return response.end(method === 'GET' ? found!.subarray(from) : '');
  };
  const listXml = (query: URLSearchParams) => {
    const prefix = query.get('prefix') ?? '';
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(prefix) && !key.slice(prefix.length).includes('/'))
      .filter((key) => key > (query.get('continuation-token') ?? ''))
      .toSorted();
    const shown = keys.slice(0, PAGE).map((key) => {
      const size = objects.get(key)!.length;
      return `<Contents><Key>${key.replaceAll('&', '&amp;')}</Key><LastModified>2026-11-24T00:00:00Z</LastModified><Size>${size}</Size></Contents>`;
    });
    const next = keys.length > PAGE ? keys[PAGE - 1]!.replaceAll('&', '&amp;') : undefined;
    return `${shown.join('')}${next ? `<NextContinuationToken>${next}</NextContinuationToken>` : ''}`;
  };
  const uploadsXml = () =>
    [...uploads]
      .map(
        ([id, { key, begun }]) =>
          `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${begun.toISOString()}</Initiated></Upload>`,
      )
      .join('');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  s3.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return s3;
}

export const refuse = (response: ServerResponse, status: number, code: string) =>
  response.writeHead(status).end(`<Error><Code>${code}</Code><Message>told why</Message></Error>`);
