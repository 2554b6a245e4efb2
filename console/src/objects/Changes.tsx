import { useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import { diff } from '../json/diff.ts';
import { visible } from '../json/visible.ts';
import { inputClass } from '../ui/Field.tsx';
import { Empty, ErrorNote, Skeleton } from '../ui/Notice.tsx';
import type { ShownProps } from './ObjectPage.tsx';
import { type Value, valueQuery, type Version } from './versions.ts';
import styles from './objects.module.css';

const ROW_HEIGHT = 20;
const SHOWN = 400;

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
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo(
    () => diff(before.index, before.root, after.index, after.root),
    [before, after],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20,
  });
  const shown = ({ index }: Value, node: number | undefined) => {
    if (node === undefined) return '';
    const { start, end } = index.nodes;
    return visible(index.text.slice(start[node], Math.min(end[node]!, start[node]! + SHOWN)));
  };
  return (
    <div
      ref={scroller}
      className={styles['lines']}
      tabIndex={0}
      role="region"
      aria-label="Differences"
    >
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const { depth, key, left, right, state } = rows[index]!;
          const [was, is] = [shown(before, left), shown(after, right)];
          return (
            <div
              key={index}
              className={styles['line']}
              data-state={state}
              style={{ transform: `translateY(${start}px)` }}
            >
              <span style={{ paddingLeft: Math.min(depth, 20) * 12 }}>
                {visible(key?.slice(1, 61) ?? '–').replace(/"$/, '')}
              </span>
              <span title={was}>{state === 'within' ? '' : was}</span>
              <span title={is}>{state === 'within' ? '' : is}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
