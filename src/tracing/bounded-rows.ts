import { ApiError } from '../platform/errors.js';
import type { Database } from '../platform/database/database.js';
import { sql, type Sql } from '../platform/query/sql.js';
import { EventLoopTurn } from '../platform/time/event-loop-turn.js';

/** Limits of an answer with sums: rows, and their characters, since names and keys are clients' texts. */
export const MAX_SUM_ROWS = 50_000;
export const MAX_SUM_LENGTH = 16 * 1024 * 1024;

/**
 * Streams the rows of a query, and yields to other requests. `check` gets the length of each row, and throws when the
 * rows so far exceed a limit.
 */
export async function* checkedRows<Row>(
  database: Database,
  query: Sql<Row>,
  check: (length: number) => void,
): AsyncGenerator<Row> {
  const batches = await database.stream(sql`SELECT row_to_json(t)::text FROM (${query}) t`, {
    maxBatch: 1000,
  });
  const turn = new EventLoopTurn();
  for await (const batch of batches as AsyncIterable<string[]>)
    for (const json of batch) {
      check(json.length);
      if (turn.isOver) await turn.next();
      yield JSON.parse(json) as Row;
    }
}

/**
 * Reads the rows of a query that must fit into one answer.
 * @throws ApiError `too_large`
 */
export async function boundedRows<Row>(database: Database, query: Sql<Row>): Promise<Row[]> {
  const rows: Row[] = [];
  let sum = 0;
  const check = (length: number) => {
    sum += length;
    if (rows.length >= MAX_SUM_ROWS || sum > MAX_SUM_LENGTH)
      throw new ApiError(
        'too_large',
        `the answer is over ${MAX_SUM_ROWS} rows or ${MAX_SUM_LENGTH} characters: ask for fewer groups, or for less time`,
      );
  };
  for await (const row of checkedRows(database, query, check)) rows.push(row);
  return rows;
}
