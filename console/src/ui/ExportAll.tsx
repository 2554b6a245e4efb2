import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type RequestBody, send } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import { Button } from './Button.tsx';
import { Dialog, DialogActions } from './Dialog.tsx';
import { downloadFile } from './download.ts';
import { bytes, count } from './format.ts';
import { ErrorNote } from './Notice.tsx';

type ExportRequest = Omit<RequestBody<'/export'>, 'format'>;

export interface ExportedList {
  request: ExportRequest;
  /** Reads members of the request that must be looked up first. */
  lookUp?: (signal: AbortSignal) => Promise<Partial<ExportRequest>>;
  /** Name of the file without its ending. By default it says the project and the kind of rows. */
  name?: string;
}

const FORMATS = { parquet: 'Parquet', jsonl: 'JSON lines' } as const;
type Format = keyof typeof FORMATS;

const KINDS: Record<ExportRequest['of'], { rows: string; note: string }> = {
  calls: { rows: 'calls', note: 'every call that matches, its documents, costs and feedback' },
  feedback: { rows: 'answers', note: 'every answer that was given in this queue' },
  threads: { rows: 'threads', note: 'the statistics of every thread that matches' },
  objects: { rows: 'objects', note: 'the latest version of every object that matches' },
  table: { rows: 'rows', note: 'every row of this version of the dataset' },
  build: { rows: 'trajectories', note: 'every trajectory of the build, its reward and messages' },
};

/** Saves all rows of a list as one file, once it is complete. */
export function ExportAll({
  request,
  lookUp,
  name,
  onClose,
}: ExportedList & { onClose: () => void }) {
  const { rows, note } = KINDS[request.of];
  const [received, receive] = useState({ bytes: 0, lines: 0 });
  const [leaving] = useState(() => new AbortController());
  useEffect(() => () => leaving.abort(), [leaving]);
  const exported = useMutation({
    mutationFn: async (format: Format) => {
      const { signal } = leaving;
      receive({ bytes: 0, lines: 0 });
      const body = { ...request, ...(await lookUp?.(signal)), format };
      const response = await send('POST', '/export', { body, signal });
      const file = await wholeFile(response, format, (part) =>
        receive((sum) => ({ bytes: sum.bytes + part.length, lines: sum.lines + lineCount(part) })),
      );
      if (!signal.aborted)
        downloadFile(`${name ?? `${request.project_id}-${rows}`}.${format}`, file);
    },
    onSuccess: onClose,
  });
  const isOfLines = exported.variables === 'jsonl';
  return (
    <Dialog title={`Export all ${rows}`} isOpen onClose={onClose}>
      <p>One file with {note}. Parquet has typed columns for warehouses and notebooks.</p>
      {exported.isPending && (
        <p role="status">
          {isOfLines && `${count(received.lines)} ${rows}, `}
          {bytes(received.bytes)} received
        </p>
      )}
      {exported.error && <ErrorNote error={exported.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        {Object.entries(FORMATS).map(([format, label]) => (
          <Button
            key={format}
            look="primary"
            disabled={exported.isPending}
            onClick={() => exported.mutate(format as Format)}
          >
            {label}
          </Button>
        ))}
      </DialogActions>
    </Dialog>
  );
}

/** The browser may keep a blob on disk, and keeps bytes in memory. */
const BLOB_BYTES = 16 * 1024 * 1024;

/** @throws Problem when the service has ended the connection before the file was complete */
async function wholeFile(
  response: Response,
  format: Format,
  onPart: (part: Uint8Array) => void,
): Promise<Blob> {
  const blobs: Blob[] = [];
  let parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const reader = response.body!.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      onPart(part.value);
      parts.push(part.value);
      size += part.value.length;
      if (size < BLOB_BYTES) continue;
      blobs.push(new Blob(parts));
      [parts, size] = [[], 0];
    }
  } catch {
    throw incomplete();
  }
  const file = new Blob([...blobs, ...parts]);
  const end = await file.slice(-4).text();
  if (format === 'parquet' ? end !== 'PAR1' : file.size > 0 && !end.endsWith('\n'))
    throw incomplete();
  return file;
}

const incomplete = () =>
  new Problem(
    0,
    'incomplete',
    'the export ended before the file was complete, so nothing was saved: try again',
  );

const LINE_FEED = 0x0a;

function lineCount(part: Uint8Array): number {
  let lines = 0;
  for (const byte of part) if (byte === LINE_FEED) lines++;
  return lines;
}
