import { Link } from '@tanstack/react-router';
import { Button, buttonClass } from '../ui/Button.tsx';
import { EmptyState } from '../ui/Notice.tsx';
import { type TracesSearch, usualSource } from './request.ts';

/** Says why the list is empty, and what to do. */
export function NoTraces({
  search,
  project,
  onSearch,
}: {
  search: TracesSearch;
  project: string;
  onSearch: (search: TracesSearch) => void;
}) {
  const { q, range, from, orphans, source = usualSource(search) } = search;
  const others = source !== 'all' && (
    <Button onClick={() => onSearch({ ...search, source: 'all' })}>Show all sources</Button>
  );
  if ((q ?? range ?? from ?? orphans) !== undefined)
    return (
      <EmptyState title="No trace matches">
        <p>No call in this project matches the filter and the time range.</p>
        <Button onClick={() => onSearch({})}>Show all traces</Button>
        {others}
      </EmptyState>
    );
  return (
    <EmptyState title="No traces yet">
      <p>Calls that are sent to {project} appear here.</p>
      <Link to="/connect" search={{ project }} className={buttonClass('primary')}>
        Connect an application
      </Link>
      {others}
    </EmptyState>
  );
}

export const Unreadable = ({ onSearch }: { onSearch: (search: TracesSearch) => void }) => (
  <EmptyState title="The filter cannot be read">
    <p>Correct the filter to see traces. The message above says what is wrong with it.</p>
    <Button onClick={() => onSearch({})}>Show all traces</Button>
  </EmptyState>
);
