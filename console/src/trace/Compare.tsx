import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useMemo, useState } from 'react';
import { allLines } from '../api/client.ts';
import { diffJson, type DiffRow } from '../json/diff.ts';
import { Differences } from '../json/Differences.tsx';
import type { JsonIndex } from '../json/json-index.ts';
import { readCall } from '../json/call-document.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import styles from './trace.module.css';

const PARTS = ['inputs', 'output', 'attributes', 'exception', 'summary'];

export function Compare({
  project,
  id,
  index,
  other,
  onCompare,
}: {
  project: string;
  id: string;
  index: JsonIndex;
  /** The id of the call to compare with. */
  other: string | undefined;
  onCompare: (id: string) => void;
}) {
  const [typed, setTyped] = useState(other ?? '');
  const before = useQuery({
    queryKey: ['call before', project, id],
    queryFn: ({ signal }) => callBefore(project, index, signal),
    staleTime: Infinity,
  });
  const read = useQuery({
    queryKey: ['call', project, other, 'to compare'],
    queryFn: ({ signal }) => readCall(project, other!, signal),
    enabled: other !== undefined,
    gcTime: 60_000,
    structuralSharing: false,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onCompare(typed.trim());
  };
  const isMissing =
    read.data !== undefined && read.data.nodeText(read.data.member(0, 'call') ?? 0) === 'null';
  return (
    <div className={styles['compare']}>
      <form className={styles['note']} onSubmit={submit}>
        <Field
          label="Id of another call"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <Button type="submit" disabled={typed.trim() === ''}>
          Compare
        </Button>
        <Button
          disabled={!before.data}
          onClick={() => {
            setTyped(before.data!);
            onCompare(before.data!);
          }}
        >
          With the one before
        </Button>
      </form>
      {read.error && <ErrorNote error={read.error} />}
      {isMissing && <p className={styles['soft']}>There is no such call in this project.</p>}
      {read.data && !isMissing && <CallDifferences ours={index} theirs={read.data} />}
    </div>
  );
}

/** The id of the previous call of the same op, by start. */
async function callBefore(
  project_id: string,
  index: JsonIndex,
  signal: AbortSignal,
): Promise<string | null> {
  const call = index.member(0, 'call')!;
  const value = (name: string) => JSON.parse(index.nodeText(index.member(call, name)!)) as string;
  const request = {
    project_id,
    filter: { op_names: [value('op_name')] },
    query: { $expr: { $lt: [{ $getField: 'started_at' }, { $literal: value('started_at') }] } },
    sort_by: [{ field: 'started_at', direction: 'desc' as const }],
    limit: 1,
    columns: ['id'],
  };
  const [found] = await allLines('/calls/stream_query', request, signal);
  return found?.id ?? null;
}

function CallDifferences({ ours, theirs }: { ours: JsonIndex; theirs: JsonIndex }) {
  const rows = useMemo(() => diffLines(ours, theirs), [ours, theirs]);
  return <Differences rows={rows} before={ours} after={theirs} />;
}

function diffLines(ours: JsonIndex, theirs: JsonIndex): DiffRow[] {
  const [a, b] = [ours.member(0, 'call')!, theirs.member(0, 'call')!];
  return PARTS.flatMap((name) => {
    const [left, right] = [ours.member(a, name), theirs.member(b, name)];
    if (left === undefined || right === undefined) return [];
    return diffJson(ours, left, theirs, right).map((row) =>
      row.depth === 0 ? { ...row, key: `"${name}"` } : row,
    );
  });
}
