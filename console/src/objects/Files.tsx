import { useMutation } from '@tanstack/react-query';
import { send } from '../api/client.ts';
import { Button } from '../ui/Button.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { downloadFile } from '../ui/download.ts';
import type { IndexedValue } from './queries.ts';
import styles from './objects.module.css';

interface StoredFile {
  name: string;
  digest: string;
}

export function findFiles({ index, root }: IndexedValue): StoredFile[] {
  const files = index.kind(root) === 'object' ? index.member(root, 'files') : undefined;
  if (files === undefined || index.kind(files) !== 'object') return [];
  return [...index.children(files)].flatMap((node) =>
    index.kind(node) === 'string'
      ? [
          {
            name: JSON.parse(index.nodeKey(node)!) as string,
            digest: JSON.parse(index.nodeText(node)) as string,
          },
        ]
      : [],
  );
}

/** Offers files as downloads. They are never displayed, because their content could run. */
export function Files({ project, files }: { project: string; files: StoredFile[] }) {
  const download = useMutation({
    mutationFn: async ({ name, digest }: StoredFile) => {
      const body = { project_id: project, digest };
      const response = await send('POST', '/file/content', { body });
      downloadFile(name, await response.blob());
    },
  });
  return (
    <div className={styles['files']}>
      {files.map((file) => (
        <Button
          key={file.name}
          disabled={download.isPending}
          onClick={() => download.mutate(file)}
          title={file.digest}
        >
          Download {file.name}
        </Button>
      ))}
      {download.error && <ErrorNote error={download.error} />}
    </div>
  );
}
