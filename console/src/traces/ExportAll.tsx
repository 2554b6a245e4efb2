import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { send } from '../api/client.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { downloadFile } from '../ui/download.ts';
import { bytes } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import type { CallsRequest } from './request.ts';

const FORMATS = { parquet: 'Parquet', jsonl: 'JSON lines' } as const;

/** Saves all calls that match the list as one file. */
export function ExportAll({ chosen, onClose }: { chosen: CallsRequest; onClose: () => void }) {
  const { project_id, filter, query } = chosen;
  const [received, receive] = useState(0);
  const [leaving] = useState(() => new AbortController());
  useEffect(() => () => leaving.abort(), [leaving]);
  const exported = useMutation({
    mutationFn: async (format: keyof typeof FORMATS) => {
      const { signal } = leaving;
      const body = { project_id, of: 'calls', format, filter, query };
      const response = await send('POST', '/export', { body, signal });
      const parts: Uint8Array<ArrayBuffer>[] = [];
      const reader = response.body!.getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        parts.push(part.value);
        receive((sum) => sum + part.value.length);
      }
      downloadFile(`${project_id}-calls.${format}`, new Blob(parts));
    },
    onSuccess: onClose,
  });
  return (
    <Dialog title="Export all calls of this list" isOpen onClose={onClose}>
      <p>
        One file with every call that matches, its documents, costs and feedback. Parquet has typed
        columns for warehouses and notebooks.
      </p>
      {exported.isPending && <p role="status">{bytes(received)} received</p>}
      {exported.error && <ErrorNote error={exported.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        {Object.entries(FORMATS).map(([format, label]) => (
          <Button
            key={format}
            look="primary"
            disabled={exported.isPending}
            onClick={() => exported.mutate(format as keyof typeof FORMATS)}
          >
            {label}
          </Button>
        ))}
      </DialogActions>
    </Dialog>
  );
}
