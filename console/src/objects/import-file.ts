import { get, type Schema } from '../api/client.ts';
import { Problem, readProblem, type Violation } from '../api/problem.ts';
import { indexJson } from '../json/json-indexer.ts';
import type { TableRows } from './rows.ts';

/** The first part of a file, of which a preview is made. */
const HEAD_BYTES = 256 * 1024;

export type ColumnType = NonNullable<Schema<'FileColumnDto'>['type']>;
/** Columns that are imported under another name, as another type, or not at all. */
export type Mapping = Readonly<Record<string, { path?: string; type?: ColumnType } | null>>;

export interface FileToImport {
  project: string;
  file: File;
  isCsv: boolean;
  delimiter: string;
  mapping: Mapping;
}

export type Preview = Schema<'DatasetImportPreviewAnswerDto'> & { shown: TableRows };

export async function previewFile(of: FileToImport, signal: AbortSignal): Promise<Preview> {
  const { file } = of;
  const head = file.slice(0, HEAD_BYTES);
  const url = addressOf('/datasets/import/preview', of, { partial: file.size > HEAD_BYTES });
  const text = await sendFile(url, of, head, { signal });
  const index = await indexJson(text, signal);
  const nodes = [...index.children(index.member(0, 'rows')!)];
  return { ...(JSON.parse(text) as Preview), shown: { index, nodes, digests: [] } };
}

export async function importFile(
  of: FileToImport,
  to: { objectId: string; mode: string },
  more: { signal: AbortSignal; onProgress: (share: number) => void },
): Promise<Schema<'DatasetImportedDto'>> {
  const query = { object_id: to.objectId, mode: to.mode };
  const text = await sendFile(addressOf('/datasets/import', of, query), of, of.file, more);
  return JSON.parse(text) as Schema<'DatasetImportedDto'>;
}

/** A fault with its place in the file, in words. */
export const faultText = ({ line, field, path, message }: Violation): string =>
  line === undefined
    ? `${path} ${message}`
    : `Line ${line}${field === undefined ? '' : `, ${field}`}: ${message}`;

function addressOf(
  path: string,
  { project, isCsv, delimiter, mapping }: FileToImport,
  more: Record<string, unknown>,
): string {
  const query = new URLSearchParams({ project_id: project });
  if (isCsv) query.set('delimiter', delimiter);
  if (Object.keys(mapping).length > 0) query.set('mapping', JSON.stringify(mapping));
  for (const [name, value] of Object.entries(more)) query.set(name, String(value));
  return `${path}?${query.toString()}`;
}

/**
 * Sends bytes as `send` does. `fetch` cannot say how much of a body was sent.
 * @throws Problem for every status but 2xx
 */
function sendFile(
  url: string,
  { isCsv }: FileToImport,
  bytes: Blob,
  { signal, onProgress }: { signal: AbortSignal; onProgress?: (share: number) => void },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', url);
    request.setRequestHeader('x-skein-console', '1');
    request.setRequestHeader('content-type', isCsv ? 'text/csv' : 'application/x-ndjson');
    request.upload.addEventListener('progress', ({ loaded }) => onProgress?.(loaded / bytes.size));
    request.addEventListener('error', () =>
      reject(new Problem(0, 'unreachable', 'the service cannot be reached')),
    );
    request.addEventListener('load', () => {
      const { status, responseText } = request;
      if (status === 200) return resolve(responseText);
      if (status === 401) get('/me').catch(() => {}); // which ends the session of the page
      const id = request.getResponseHeader('x-request-id');
      const headers = new Headers(id === null ? [] : [['x-request-id', id]]);
      readProblem(new Response(responseText, { status, headers })).then(reject, reject);
    });
    signal.addEventListener('abort', () => {
      request.abort();
      reject(signal.reason);
    });
    request.send(bytes);
  });
}
