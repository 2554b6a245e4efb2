import { createHash, randomBytes } from 'node:crypto';
import { basic, send, type TestApp } from './app.js';
import type { Planted } from './planted.js';

export const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64');

/** The request by which Langfuse's SDK announces an upload. */
export const announced = (bytes: Uint8Array, more: object = {}) => ({
  ...{ traceId: 't', observationId: null, field: 'input', contentType: 'image/png' },
  ...{ contentLength: bytes.length, sha256Hash: sha256Of(bytes), ...more },
});

/** Uploads a medium to a project and returns its id. */
export async function aMediumOf({ project }: Planted, app: TestApp): Promise<string> {
  const bytes = randomBytes(20);
  const headers = { authorization: basic(app.key, project) };
  const { body } = await send(`${app.url}/api/public/media`, announced(bytes), headers);
  const { status } = await fetch(body.uploadUrl, { method: 'PUT', body: bytes });
  if (status !== 200) throw new Error(`the upload was answered ${status}`);
  return body.mediaId;
}
