import {
  type Columns,
  escapedStep,
  InvalidQuery,
  jsonAt,
  type JsonColumn,
  jsonValueAt,
  type Operand,
  parsePath,
  type Prefix,
  storable,
} from '../../../platform/query/columns.js';
import { Parameter, sql, type Sql } from '../../../platform/query/sql.js';

/** Columns that may be expanded in one request, and refs that one of them may lead through. */
const MAX_EXPANDED = 20;
const MAX_LEGS = 4;

/**
 * The columns of calls, with fields behind refs: below each of these columns a field is one of the object that the ref there
 * names. A column may be behind another one, as in `inputs.model`, `inputs.model.prompt`. Only objects of the project are
 * looked up. @throws InvalidQuery
 */
export function withExpanded(
  columns: Columns,
  projectId: string,
  names: readonly string[] | null | undefined,
): Columns {
  if (!names?.length) return columns;
  if (names.length > MAX_EXPANDED)
    throw new InvalidQuery('expand_columns', `must not hold more than ${MAX_EXPANDED} names`);
  const paths = names.map((name) => parsePath(name));
  const more = paths.flatMap((path): [string, Prefix][] => {
    const document = columns[path[0]!];
    if (path.length < 2 || !document || typeof document === 'function') return [];
    if (document.type !== 'document') return [];
    const legs = legsOf(path, paths);
    if (legs.length > MAX_LEGS)
      throw new InvalidQuery('expand_columns', `must not lead through more than ${MAX_LEGS} refs`);
    return [[path.map(escapedStep).join('.'), behind(document, projectId, legs)]];
  });
  return { ...columns, ...Object.fromEntries(more) };
}

/** The steps of a path behind the document, cut where a ref is to be followed. */
function legsOf(path: readonly string[], expanded: readonly (readonly string[])[]): string[][] {
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

/** A field below a ref; the ref itself is the field that it is without. */
function behind(document: JsonColumn, projectId: string, [first, ...legs]: string[][]): Prefix {
  const at = (value: Sql, steps: readonly string[]) =>
    sql`(${value} #> ${new Parameter(steps.map(storable))}::text[])`;
  const followed = (value: Sql) => sql`skein_behind(${projectId}, ${value})`;
  const last = legs.reduce(
    (value, leg) => followed(at(value, leg)),
    followed(jsonValueAt(document, first!)),
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
