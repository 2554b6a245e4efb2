import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { diff } from '../json/diff.ts';
import { Differences } from '../json/Differences.tsx';
import { inputClass } from '../ui/Field.tsx';
import { Empty, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import type { ShownProps } from './ObjectPage.tsx';
import { type Value, valueQuery, type Version } from './versions.ts';
import styles from './objects.module.css';

/** The version beside another one, line by line; without a choice the one before. */
export function Changes({
  project,
  version,
  versions,
  search,
  onSearch,
  value,
}: ShownProps & { value: Value }) {
  const others = versions.filter(({ digest }) => digest !== version.digest);
  const other =
    others.find(({ digest }) => digest === search.with) ??
    others.find(({ version_index }) => version_index < version.version_index) ??
    others[0];
  if (!other)
    return (
      <Empty title="Only one version">
        <p>There is nothing to compare it with yet.</p>
      </Empty>
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
  value: Value;
}) {
  const { data, error } = useQuery(valueQuery(project, before));
  if (error) return <ErrorNote error={error} />;
  if (!data) return <Skeleton rows={8} />;
  return <Lines before={data} after={value} />;
}

function Lines({ before, after }: { before: Value; after: Value }) {
  const rows = useMemo(
    () => diff(before.index, before.root, after.index, after.root),
    [before, after],
  );
  return <Differences rows={rows} before={before.index} after={after.index} />;
}
