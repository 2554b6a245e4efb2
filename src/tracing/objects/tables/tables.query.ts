// SQL: rows arrive in batches and leave as streams.
import { column, type Columns, orderBy, page } from '../../../platform/query/columns.js';
import { compile } from '../../../platform/query/expression.js';
import { allOf, sql, type Sql } from '../../../platform/query/sql.js';
import { DIGEST_LENGTH } from './row-digests.js';
import type { TableQueryDto, TablesStatsDto, TableStatsQueryDto } from './tables.dto.js';
import { lookedUp } from '../../../platform/query/plans.js';

export interface NewRow {
  digest: string;
  isOpaque: boolean;
  /** JSON text. */
  val: string;
}

/** Stores rows that the project does not have yet, in the order of their digests. */
export const insertRowsQuery = (projectId: string, rows: readonly NewRow[]) => sql`
  INSERT INTO table_rows (project_id, digest, is_opaque, val)
  SELECT ${projectId}, r.digest, r.is_opaque, r.val::json
  FROM unnest(${rows.map(({ digest }) => digest)}::text[], ${rows.map(({ isOpaque }) => isOpaque)}::boolean[],
    ${rows.map(({ val }) => val)}::text[]) AS r(digest, is_opaque, val)
  ON CONFLICT DO NOTHING`;

export const insertTableQuery = (projectId: string, digest: string, rowDigests: Buffer) => sql`
  INSERT INTO tables (project_id, digest, row_digests) VALUES (${projectId}, ${digest}, ${rowDigests})
  ON CONFLICT DO NOTHING`;

/** Returns one of the digests without a row in the project. */
export const unknownRowQuery = (projectId: string, digests: readonly string[]) => sql<{
  digest: string;
}>`
  SELECT d.digest FROM unnest(${digests}::text[]) AS d(digest)
  WHERE NOT EXISTS (SELECT FROM table_rows r WHERE r.project_id = ${projectId} AND r.digest = d.digest) LIMIT 1`;

export const rowDigestsQuery = (projectId: string, digest: string): Sql<{ row_digests: Buffer }> =>
  sql`SELECT t.row_digests FROM tables t WHERE t.project_id = ${projectId} AND t.digest = ${digest}`;

const COUNT = sql`octet_length(t.row_digests) / ${DIGEST_LENGTH}::int`;

/** Reads positions `from` (inclusive) to `to` (exclusive) of a table, in order, with the digest of each row. */
const places = (
  projectId: string,
  digest: string,
  from: number | Sql,
  to: number | Sql | null,
) => sql`(
  SELECT p.n, convert_from(substring(p.row_digests FROM p.n * ${DIGEST_LENGTH}::int + 1 FOR ${DIGEST_LENGTH}::int), 'UTF8') AS digest
  FROM (
    SELECT t.row_digests, generate_series(${from}::bigint, least(${to}::bigint, ${COUNT}) - 1)::int AS n
    FROM tables t WHERE t.project_id = ${projectId} AND t.digest = ${digest}) p)`;

/** Returns a row as JSON text. It is looked up row by row, so that no sort or join carries the values. */
const rowJson = (projectId: string) => sql`(
  SELECT row_to_json(o)::text FROM (
    SELECT r.digest, r.val, p.n AS original_index FROM table_rows r
    WHERE r.project_id = ${projectId} AND r.digest = p.digest) o)`;

/** The columns by which rows are ranked. Rows of equal rank are sorted by their positions. */
const ROW: Columns<'val' | 'none'> = {
  val: column.json(sql`r.val`, sql`r.is_opaque`),
  none: column.number(sql`0::int`, { isNotNull: true }),
};

/** Looks up the values of rows by their digests. */
const valuesOf = (projectId: string, digest: Sql) =>
  lookedUp(
    sql`SELECT r.val, r.is_opaque FROM table_rows r WHERE r.project_id = ${projectId} AND r.digest = ${digest}`,
    'r',
  );

const isMatch = (query: object) => compile(query, { val: ROW.val });

/** Rows that a search reads before it looks for those that match. Equal ones among them are read once. */
const SEARCHED_AT_ONCE = 1000;

/** Finds the places of matching rows, in order, and reads no further than the last one that is asked for. */
const matchingPlaces = (projectId: string, digest: string, query: object) => sql`
  SELECT p.n, p.digest FROM (
    SELECT generate_series(0, ${COUNT} - 1, ${SEARCHED_AT_ONCE}::int) AS first
    FROM tables t WHERE t.project_id = ${projectId} AND t.digest = ${digest}) s
  ${lookedUp(
    sql`
    WITH p AS MATERIALIZED (
      SELECT p.n, p.digest FROM ${places(projectId, digest, sql`s.first`, sql`s.first + ${SEARCHED_AT_ONCE}`)} p)
    SELECT p.n, p.digest FROM p WHERE p.digest IN (
      SELECT d.digest FROM (SELECT DISTINCT p.digest FROM p) d ${valuesOf(projectId, sql`d.digest`)}
      WHERE ${isMatch(query)})
    ORDER BY p.n`,
    'p',
  )}`;

/**
 * Reads rows as JSON texts. In the order of the table, the cost of a page depends only on its rows. The series has that
 * order already, so it is not sorted again. Sorted or filtered pages read the whole table, but each distinct row once:
 * a request of 1 MB can create a table that repeats one large row 20,000 times.
 */
export function tableRowsQuery(request: TableQueryDto): Sql {
  const { project_id: projectId, digest, limit = null, query } = request;
  const offset = request.offset ?? 0;
  const sorts = request.sort_by ?? [];
  const digests = request.filter?.row_digests ?? [];
  if (sorts.length === 0 && digests.length === 0) {
    if (query)
      return sql`SELECT ${rowJson(projectId)} FROM (${matchingPlaces(projectId, digest, query)} ${page(request)}) p`;
    const to = limit === null ? null : offset + limit;
    return sql`SELECT ${rowJson(projectId)} FROM ${places(projectId, digest, offset, to)} p`;
  }
  const order = orderBy(
    ROW,
    sorts.map(({ field, direction }) => ({ field: `val.${field}`, direction })),
    'none',
  );
  const isWanted = allOf(digests.length > 0 && sql`p.digest = ANY(${digests})`);
  return sql`
    WITH p AS MATERIALIZED (
      SELECT p.n, p.digest FROM ${places(projectId, digest, 0, null)} p WHERE ${isWanted}),
    ranked AS (
      SELECT d.digest, rank() OVER (${order}) AS rank FROM (SELECT DISTINCT p.digest FROM p) d
      ${valuesOf(projectId, sql`d.digest`)} WHERE ${allOf(query && isMatch(query))})
    SELECT ${rowJson(projectId)} FROM (
      SELECT p.n, p.digest FROM p JOIN ranked USING (digest)
      ORDER BY ranked.rank, p.n ${page(request)}) p`;
}

/** A member of the rows of a table, with the JSON types of its values other than null. */
export interface TableMember {
  name: string;
  types: string[];
}

/**
 * True if the double of a number has the same value in its shortest spelling. Comparing texts first takes half of the
 * time. A double has no value beyond 1e308, and PostgreSQL refuses to make one.
 */
const isDouble = (text: Sql, number = sql`skein_number(${text})`) => sql`CASE
  WHEN length(${text}) < 300 AND ${text} !~ '[eE]' THEN ${text}::float8::text = ${text} OR ${text}::float8::text::numeric = ${text}::numeric
  WHEN ${number} = 0 OR abs(${number}) BETWEEN 1e-307 AND 1e308 THEN ${number}::float8::text::numeric = ${number}
  ELSE false END`;

/**
 * Lists members of the rows of a table, in the order of their first places. Null if the rows have none, or if
 * PostgreSQL cannot read some row.
 */
export const membersQuery = (projectId: string, digest: string, limit: number) => sql<{
  members: TableMember[] | null;
}>`
  WITH rows AS MATERIALIZED (
    SELECT p.first, r.val, r.is_opaque FROM (
      SELECT p.digest, min(p.n) AS first FROM ${places(projectId, digest, 0, null)} p GROUP BY 1) p
    ${valuesOf(projectId, sql`p.digest`)}),
  opaque AS MATERIALIZED (SELECT EXISTS (SELECT FROM rows WHERE is_opaque) AS is_opaque)
  SELECT (
    SELECT json_agg(json_build_object('name', m.name, 'types', m.types) ORDER BY m.place) FROM (
      SELECT e.key AS name, min(ARRAY[rows.first, e.place]) AS place,
        coalesce(json_agg(DISTINCT t.type) FILTER (WHERE t.type <> 'null'), '[]') AS types
      FROM rows, json_each(CASE WHEN NOT opaque.is_opaque THEN rows.val END) WITH ORDINALITY AS e (key, value, place),
        LATERAL (SELECT CASE json_typeof(e.value)
          WHEN 'number' THEN CASE WHEN ${isDouble(sql`e.value::text`)} THEN 'number' ELSE 'long number' END
          ELSE json_typeof(e.value) END AS type) t
      GROUP BY 1 LIMIT ${limit}) m) AS members
  FROM opaque`;

/** Counts the rows of the tables that exist. Sizes are summed up only when requested, since that reads every row. */
export const tableStatsQuery = (
  projectId: string,
  digests: readonly string[],
  withSize: boolean,
) => sql<TablesStatsDto['tables'][number]>`
  SELECT ${COUNT} AS count, t.digest, ${withSize ? sizeBytes(projectId) : sql`NULL`} AS storage_size_bytes
  FROM tables t WHERE t.project_id = ${projectId} AND t.digest = ANY(${digests})`;

/** Counts the rows that match, as a text. Reads each distinct row once. */
export const matchingCount = ({ project_id, digest }: TableStatsQueryDto, query: object) => sql`
  SELECT coalesce(sum(p.times), 0)::text FROM (
    SELECT p.digest, count(*) AS times FROM ${places(project_id, digest, 0, null)} p GROUP BY 1) p
  ${valuesOf(project_id, sql`p.digest`)} WHERE ${isMatch(query)}`;

/** Reads each distinct row once, by its key: a join would read all rows of the project for each table. */
const sizeBytes = (projectId: string) => sql`(
  SELECT coalesce(sum(p.times * (
    SELECT octet_length(r.val::text) FROM table_rows r
    WHERE r.project_id = ${projectId} AND r.digest = p.digest)), 0)::float8
  FROM (
    SELECT convert_from(substring(t.row_digests FROM i.n * ${DIGEST_LENGTH}::int + 1 FOR ${DIGEST_LENGTH}::int), 'UTF8') AS digest,
      count(*) AS times
    FROM generate_series(0, ${COUNT} - 1) AS i(n) GROUP BY 1) p)`;

export const rowQuery = (projectId: string, digest: string): Sql<{ val: string }> =>
  sql`SELECT r.val::text AS val FROM table_rows r WHERE r.project_id = ${projectId} AND r.digest = ${digest}`;
