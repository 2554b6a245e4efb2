import { randomBytes } from 'node:crypto';
import { basic, send, useApp } from '../support/app.js';
import { announced, sha256Of } from '../support/media.js';

const app = useApp();
const project_id = 'acme/media';
const as = (project = project_id, key = app.key) => ({ authorization: basic(key, project) });
const announce = (bytes: Buffer, more: object = {}, headers = as()) =>
  send(`${app.url}/api/public/media`, announced(bytes, more), headers);
const put = async (url: string, bytes: Buffer, headers: Record<string, string> = {}) => {
  const answer = await fetch(url, {
    method: 'PUT',
    body: bytes,
    headers: { 'content-type': 'image/png', 'x-ms-blob-type': 'BlockBlob', ...headers },
  });
  return { status: answer.status, body: (await answer.json()) as any };
};
const patch = (id: string, uploadHttpStatus: number, headers = as()) =>
  send(
    `${app.url}/api/public/media/${id}`,
    { uploadedAt: new Date().toISOString(), uploadHttpStatus, uploadHttpError: null },
    headers,
    'PATCH',
  );
const read = async (id: string, headers = as()) => {
  const answer = await fetch(`${app.url}/api/public/media/${id}`, { headers });
  return { status: answer.status, body: (await answer.json()) as any };
};
const mediaId = (bytes: Buffer) =>
  Buffer.from(sha256Of(bytes), 'base64').toString('base64url').slice(0, 22);

describe('media of Langfuse', () => {
  it.each([3, 256 * 1024, 2_500_001])('come back byte for byte: %i bytes', async (length) => {
    const bytes = randomBytes(length);
    const { status, body } = await announce(bytes);
    expect([status, body]).toEqual([
      200,
      {
        mediaId: mediaId(bytes),
        uploadUrl: expect.stringContaining(`${app.url}/api/public/media/`),
      },
    ]);
    expect((await read(body.mediaId)).status).toBe(404);
    expect((await patch(body.mediaId, 200)).status).toBe(409);
    expect((await patch(body.mediaId, 403)).status).toBe(200);
    const checksum = { 'x-amz-checksum-sha256': sha256Of(bytes) };
    expect((await put(body.uploadUrl, bytes, checksum)).status).toBe(200);
    expect((await put(body.uploadUrl, bytes)).status).toBe(200); // a repeated upload is harmless
    expect((await patch(body.mediaId, 200)).status).toBe(200);
    const found = await read(body.mediaId);
    expect(found.body).toMatchObject({
      mediaId: body.mediaId,
      contentType: 'image/png',
      contentLength: length,
      uploadedAt: expect.stringMatching(/Z$/),
    });
    expect(Date.parse(found.body.urlExpiry)).toBeGreaterThan(Date.now());
    const answer = await fetch(found.body.url);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
    });
    expect((await announce(bytes)).body).toEqual({ mediaId: body.mediaId, uploadUrl: null });
  });

  it('are not stored when other bytes come than were announced', async () => {
    const bytes = randomBytes(1000);
    const { body } = await announce(bytes);
    const message = async (sent: Buffer, headers = {}) => {
      const answer = await put(body.uploadUrl, sent, headers);
      return [answer.status, answer.body.errors?.[0]?.path ?? answer.body.code];
    };
    expect(await message(randomBytes(1000))).toEqual([400, 'sha256Hash']);
    expect(await message(bytes.subarray(1))).toEqual([400, 'content-length']);
    expect(await message(bytes, { 'x-amz-checksum-sha256': sha256Of(Buffer.of(1)) })).toEqual([
      400,
      'x-amz-checksum-sha256',
    ]);
    const chunked = (sent: Buffer) =>
      fetch(body.uploadUrl, { method: 'PUT', body: new Blob([sent]).stream(), duplex: 'half' }); // prettier-ignore
    expect((await chunked(bytes.subarray(1))).status).toBe(400);
    expect((await chunked(Buffer.concat([bytes, bytes]))).status).toBe(413);
    expect((await read(body.mediaId)).status).toBe(404);
    expect((await put(body.uploadUrl, bytes)).status).toBe(200);
  });

  it('are uploaded by the URL alone, which is signed and ends', async () => {
    const bytes = randomBytes(100);
    const { body } = await announce(bytes);
    const changed = (change: (url: URL) => void) => {
      const url = new URL(body.uploadUrl);
      change(url);
      return put(url.href, bytes);
    };
    const refused = [
      await changed((url) => url.searchParams.delete('signature')),
      await changed((url) => url.searchParams.set('signature', 'x'.repeat(43))),
      await changed((url) => url.searchParams.set('project_id', 'acme/other')),
      await changed((url) => url.searchParams.set('project_id', 'acme')),
      await changed((url) => url.searchParams.set('expires', '99999999999')),
      await changed((url) => url.searchParams.set('expires', '1000')),
      await changed((url) => (url.pathname = url.pathname.replace(body.mediaId, 'x'.repeat(22)))),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403));
    const { status } = await fetch(body.uploadUrl); // the URL is signed for PUT only
    expect(status).toBe(403);
    expect((await read(body.mediaId)).status).toBe(404);
  });

  it('are those of one project', async () => {
    const bytes = randomBytes(100);
    const { body } = await announce(bytes);
    await put(body.uploadUrl, bytes);
    expect((await read(body.mediaId, as('acme/other-media'))).status).toBe(404);
    expect((await patch(body.mediaId, 200, as('acme/other-media'))).status).toBe(404);
    const key = await app.aKey('writer', ['acme/elsewhere']);
    for (const { status } of [
      await announce(bytes, {}, as(project_id, key)),
      await read(body.mediaId, as(project_id, key)),
      await patch(body.mediaId, 200, as(project_id, key)),
    ])
      expect(status).toBe(403);
    const reader = await app.aKey('reader');
    expect((await announce(bytes, {}, as(project_id, reader))).status).toBe(403);
    expect((await read(body.mediaId, as(project_id, reader))).status).toBe(200);
    expect((await read('unknown')).status).toBe(404);
    expect((await patch('unknown', 200)).status).toBe(404);
  });

  it.each([
    [
      { contentLength: 104_857_601 },
      413,
      /contentLength is 104857601, over the limit of 104857600/,
    ],
    [{ contentLength: 0 }, 400, /contentLength/],
    [{ contentLength: '3' }, 400, /contentLength/],
    [{ sha256Hash: 'short' }, 400, /sha256Hash must be a SHA-256 in base64/],
    [{ contentType: 'image/png\r\nx: y' }, 400, /contentType must be a media type/],
    [{ traceId: null }, 400, /traceId/],
    [{ field: null }, 400, /field/],
  ])('are refused when announced with %j', async (more, status, message) => {
    const answer = await announce(randomBytes(3), more);
    expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(message)]);
  });

  it('are announced again with other facts until the bytes are here', async () => {
    const bytes = randomBytes(50);
    await announce(bytes, { contentLength: 51, contentType: 'image/gif' });
    const { body } = await announce(bytes);
    expect((await put(body.uploadUrl, bytes)).status).toBe(200);
    expect((await announce(bytes, { contentLength: 51 })).status).toBe(409);
    expect((await read(body.mediaId)).body).toMatchObject({ contentType: 'image/png' });
  });
});
