import { Button } from './Button.tsx';
import { count } from './format.ts';

/** Shows the number of all rows, and turns the pages. */
export function RowPager({
  total,
  isLeast,
  rowsPerPage,
  page,
  onTurn,
}: {
  total: number;
  /** The rows are not counted yet, and may be more. */
  isLeast?: boolean;
  rowsPerPage: number;
  page: number;
  onTurn: (to: number) => void;
}) {
  const last = Math.max(1, Math.ceil(total / rowsPerPage));
  return (
    <>
      <span role="status">
        {isLeast && 'At least '}
        {count(total)} {total === 1 ? 'row' : 'rows'}
        {last > 1 && `, page ${page} of ${count(last)}`}
      </span>
      <Button disabled={page <= 1} onClick={() => onTurn(page - 1)}>
        Previous
      </Button>
      <Button disabled={page >= last} onClick={() => onTurn(page + 1)}>
        Next
      </Button>
    </>
  );
}
