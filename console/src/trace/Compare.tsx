import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useMemo, useState } from 'react';
import { diffJson, type DiffRow } from '../json/diff.ts';
import { Differences } from '../json/Differences.tsx';
import type { JsonIndex } from '../json/json-index.ts';
import { Button } from '../ui/Button.tsx';
import { Field } from '../ui/Field.tsx';
import { ErrorNote } from '../ui/Notice.tsx';
import { callBeforeQuery, comparedCallQuery } from './queries.ts';
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
  const before = useQuery(callBeforeQuery(project, id, index));
  const read = useQuery(comparedCallQuery(project, other));
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
          Compare with the previous call
        </Button>
      </form>
      {read.error && <ErrorNote error={read.error} />}
      {isMissing && <p className={styles['soft']}>There is no such call in this project.</p>}
      {read.data && !isMissing && <CallDifferences ours={index} theirs={read.data} />}
    </div>
  );
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
