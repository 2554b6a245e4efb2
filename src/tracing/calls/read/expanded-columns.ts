import {
  type Columns,
  escapedStep,
  InvalidQuery,
  jsonAt,
  type JsonColumn,
  jsonValueAt,
  type Operand,
  parsePath,
  type NamePrefix,
  storable,
} from '../../../platform/query/columns.js';
import { computedOnce } from '../../../platform/query/plans.js';
import { Parameter, sql, type Sql } from '../../../platform/query/sql.js';

/** Limits of one request: number of expanded columns, and number of refs that one column may follow. */
const MAX_EXPANDED = 20;
const MAX_LEGS = 4;
const MAX_OBJECT_BYTES = 1024 * 1024;

/**
 * Returns the columns of calls with fields behind refs. A field below one of the named columns is a field of the object
 * that the ref in this column names. A named column may be behind another one, as `inputs.model.prompt` is behind
 * `inputs.model`. Only objects of the project are read.
 * @throws InvalidQuery
 */
export function withExpandedColumns(
  columns: Columns,
  projectId: string,
  names: readonly string[] | null | undefined,
): Columns {
  if (!names?.length) return columns;
  if (names.length > MAX_EXPANDED)
    throw new InvalidQuery('expand_columns', `must not hold more than ${MAX_EXPANDED} names`);
  const paths = names.map((name) => parsePath(name));
  const more = paths.flatMap((path): [string, NamePrefix][] => {
    const document = columns[path[0]!];
    if (path.length < 2 || !document || typeof document === 'function') return [];
    if (document.type !== 'document') return [];
    const legs = pathSegments(path, paths);
    if (legs.length > MAX_LEGS)
      throw new InvalidQuery('expand_columns', `must not lead through more than ${MAX_LEGS} refs`);
    return [[path.map(escapedStep).join('.'), fieldBehindRef(document, projectId, legs)]];
  });
  return { ...columns, ...Object.fromEntries(more) };
}

/** Splits the steps of a path below the document where a ref must be followed. */
function pathSegments(
  path: readonly string[],
  expanded: readonly (readonly string[])[],
): string[][] {
  const legs: string[][] = [];
  let from = 1;
  for (let to = 2; to <= path.length; to++) {
    const isCut = expanded.some(
      (other) => other.length === to && other.every((step, i) => step === path[i]),
    );
    if (!isCut) continue;
    legs.push(path.slice(from, to));
    from = to;
  }
  return legs;
}

/** Returns the field below a ref. An empty path is the ref itself. */
function fieldBehindRef(
  document: JsonColumn,
  projectId: string,
  [first, ...legs]: string[][],
): NamePrefix {
  const at = (value: Sql, steps: readonly string[]) =>
    sql`(${value} #> ${new Parameter(steps.map(storable))}::text[])`;
  const last = legs.reduce(
    (value, leg) => referencedValue(projectId, at(value, leg)),
    referencedValue(projectId, jsonValueAt(document, first!)),
  );
  return (path): Operand => {
    if (path.length === 0 && legs.length === 0) return jsonAt(document, first!);
    const value = sql`(${last} #>> ${new Parameter(path.map(storable))}::text[])`;
    return {
      type: 'json',
      sql: value,
      within: (bytes) => sql`skein_within(${value}, ${bytes}::int)`,
    };
  };
}

/**
 * Returns the object of the same project that a ref names by its digest, or the value itself if it is no such ref. A
 * larger object counts as missing: a value of 30 MiB takes PostgreSQL 60 to 120 MB for each requested field. It is no
 * SQL function, because on a cluster functions must not read tables.
 */
const referencedValue = (projectId: string, value: Sql) => sql`(
  SELECT CASE WHEN r.named IS NULL OR r.named[1] <> ${projectId} THEN r.value ELSE (
    SELECT CASE WHEN v.val::text ~ '\\\\u(0000|[dD][89a-fA-F])' THEN skein_safe_json(v.val) ELSE v.val END
    FROM object_versions v
    WHERE v.project_id = ${projectId} AND v.object_id = r.named[2] AND v.digest = r.named[3] AND v.deleted_at IS NULL
      AND v.size_bytes <= ${MAX_OBJECT_BYTES}::bigint
    ORDER BY v.version_index LIMIT 1) END
  FROM ${computedOnce(sql`SELECT t.value, skein_named(t.value) AS named FROM ${computedOnce(sql`SELECT ${value} AS value`, 't')}`, 'r')})`;
