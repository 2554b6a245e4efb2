import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { diffJson } from '../json/diff.ts';
import { Differences } from '../json/Differences.tsx';
import { inputClass } from '../ui/Field.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import type { VersionProps } from './search.ts';
import { type IndexedValue, valueQuery, type Version } from './queries.ts';
import styles from './objects.module.css';

/** Compares the version with another one, line by line; by default with the previous one. */
export function VersionChanges({
  project,
  version,
  versions,
  search,
  onSearch,
  value,
}: VersionProps & { value: IndexedValue }) {
  const others = versions.filter(({ digest }) => digest !== version.digest);
  const other =
    others.find(({ digest }) => digest === search.with) ??
    others.find(({ version_index }) => version_index < version.version_index) ??
    others[0];
  if (!other)
    return (
      <EmptyState title="Only one version">
        <p>There is nothing to compare it with yet.</p>
      </EmptyState>
    );
  return (
    <div className={styles['changes']}>
      <label className={styles['bar']}>
        From
        <select
          className={inputClass}
          value={other.digest}
          onChange={({ target }) => onSearch({ ...search, with: target.value })}
        >
          {others.map(({ digest, version_index }) => (
            <option key={digest} value={digest}>
              v{version_index}
            </option>
          ))}
        </select>
        to v{version.version_index}
      </label>
      <Difference project={project} before={other} value={value} />
    </div>
  );
}

function Difference({
  project,
  before,
  value,
}: {
  project: string;
  before: Version;
  value: IndexedValue;
}) {
  const { data, error } = useQuery(valueQuery(project, before));
  if (error) return <ErrorNote error={error} />;
  if (!data) return <Skeleton rows={8} />;
  return <ValueDifferences before={data} after={value} />;
}

function ValueDifferences({ before, after }: { before: IndexedValue; after: IndexedValue }) {
  const rows = useMemo(
    () => diffJson(before.index, before.root, after.index, after.root),
    [before, after],
  );
  return <Differences rows={rows} before={before.index} after={after.index} />;
}
