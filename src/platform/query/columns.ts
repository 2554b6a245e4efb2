import { NUMBER } from './literal-patterns.js';
import { identifier, join, Parameter, sql, type Sql } from './sql.js';

/** A query that cannot be answered. `path` is the place in the request: `query.$expr.$and[0].$eq`. */
export class InvalidQuery extends Error {
  constructor(
    readonly path: string,
    readonly problem: string,
  ) {
    super(`${path}: ${problem}`);
  }
}

/**
 * One value of a row. `sql` is a column, a call or a parenthesised expression of PostgreSQL type
 * text (`text`), numeric or any integer (`number`), boolean (`bool`), timestamptz (`time`). `json` is what a
 * path into a JSON column found, as text: strings without their quotes, everything else as it was written,
 * and NULL for a missing value as for a JSON null.
 */
export interface Operand {
  readonly type: 'text' | 'number' | 'bool' | 'time' | 'json';
  readonly sql: Sql;
  /** Says that `sql` is never NULL, so that a descending sort can walk an ordinary index backwards. */
  readonly isNotNull?: boolean;
  /** Of what may be large: the same, without what it takes to find it; the statement fails where it has more bytes than that. */
  readonly within?: (bytes: number) => Sql;
  /** Of a value in a document: where it is, for those who take out several of one document at once. */
  readonly at?: { readonly column: JsonColumn; readonly path: readonly string[] };
  /** Says that a `number` is a PostgreSQL integer: only another integer meets an index on it. */
  readonly isInteger?: boolean;
  /** Says that a `number` may have more digits than a double keeps, and that clients add it up of doubles. */
  readonly isSum?: boolean;
  /** Of a text: when it is which, where another condition than `=` says it, as a partial index may. */
  readonly cases?: Pick<ReadonlyMap<string, Sql>, 'get'>;
}

/** A column of type `json`; `isOpaque` is true in rows whose free-form JSON PostgreSQL refuses to take apart. */
export interface JsonColumn {
  readonly type: 'document';
  readonly sql: Sql;
  readonly isOpaque: Sql;
}

/**
 * Reads what a dotted name means after its prefix; undefined means that there is no such field. `place` is where the name stands in
 * the request.
 */
export type NamePrefix = (path: readonly string[], place: string) => Operand | undefined;

type Column = Operand | JsonColumn | NamePrefix;

/**
 * What a resource exposes: wire name → how to read it. Feeds SELECT, `fields`, `sort_by` and `$getField`.
 * A key may be dotted (`summary.svc.status`) and then wins over the JSON column that it seems to lie in.
 */
export type Columns<Name extends string = string> = Readonly<Record<Name, Column>>;

type Options = Pick<Operand, 'isNotNull' | 'isInteger' | 'isSum' | 'cases' | 'within'>;
const typedOperand =
  (type: Operand['type']) =>
  (value: Sql, options: Options = {}): Operand => ({ type, sql: value, ...options });

/** One line per entry of a `ColumnTexts` table: `id: column.text(sql`c.id`, { isNotNull: true })`. */
export const column = {
  text: typedOperand('text'),
  number: typedOperand('number'),
  bool: typedOperand('bool'),
  time: typedOperand('time'),
  json: (value: Sql, isOpaque: Sql): JsonColumn => ({ type: 'document', sql: value, isOpaque }),
};

/**
 * The value at a path of a JSON column; digits index arrays. Every accessor of type `json` fails on a text that
 * holds `\u0000` or half a surrogate pair anywhere, so the rows flagged opaque are read through a function that
 * puts U+FFFD in their place. 100,000 rows of 1.8 KB, ms on PostgreSQL 15 / 18 (bench/json-path.mjs): no guard
 * 886 / 676 · the flag 894 / 659 · a test of the text instead 1928 / 2049 · always the function 4384 / 5153.
 */
export const jsonAt = (column: JsonColumn, path: readonly string[]): Operand => ({
  type: 'json',
  sql: atPath(column, path, sql`#>>`),
  within: (bytes) =>
    sql`skein_text_at(${column.sql}, ${column.isOpaque}, ${new Parameter(path.map(storable))}::text[], ${bytes}::int)`,
  at: { column, path },
});

/** The values at paths of a document as an array, each within a limit: what the paths have in common is looked for once. */
export const jsonAtAll = (
  column: JsonColumn,
  paths: readonly (readonly string[])[],
  bytes: number,
) =>
  sql`skein_texts_at(${column.sql}, ${column.isOpaque}, ${JSON.stringify(paths.map((path) => path.map(storable)))}::json, ${bytes}::int)`;

/**
 * So many values of a row may be taken out as they come, by expressions that indexes know. Each of a call of 30 MiB takes
 * PostgreSQL 60 to 120 MB until the row is done with, so that more are taken out one after the other and held to a limit.
 */
export const PLAIN_VALUES = 3;
/** What a statement takes out of one row, where it takes out more values than these. Copies may double it. */
export const MAX_EXTRACTED_BYTES = 128 * 1024 * 1024;
export const extractedShare = (values: number) => Math.floor(MAX_EXTRACTED_BYTES / values);

/** The same value as JSON: what an answer shows of it. */
export const jsonValueAt = (column: JsonColumn, path: readonly string[]): Sql =>
  atPath(column, path, sql`#>`);

function atPath({ sql: document, isOpaque }: JsonColumn, path: readonly string[], get: Sql): Sql {
  let value = sql`CASE WHEN ${isOpaque} THEN skein_safe_json(${document}) ELSE ${document} END`;
  let steps: string[] = [];
  for (const step of path.map(storable)) {
    if (SIGNED.test(step)) {
      const parent = steps.length > 0 ? sql`${value} #> ${new Parameter(steps)}::text[]` : value;
      value = sql`${parent} -> ${new Parameter(step)}::text`;
      steps = [];
    } else steps.push(step);
  }
  return sql`(${value} ${get} ${new Parameter(steps)}::text[])`;
}
/** In a path PostgreSQL takes these for indexes, and counts negative ones in the wrong array; `->` takes them for keys. */
const SIGNED = /^\s*[-+]\d+$|^\s+\d+$/;

/**
 * At most how many bytes a stored text or document has when it is taken out, found without reading it: PostgreSQL says only
 * how many it takes compressed. Three bytes of `pglz` stand for at most 273, each byte of `lz4` for at most 255.
 */
export const mostBytes = (value: Sql) => sql`coalesce(pg_column_size(${value})::bigint
  * CASE pg_column_compression(${value}) WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0)`;

/** Text as PostgreSQL can hold it: U+FFFD for NUL and half surrogate pairs, as `skein_safe_json` does. */
export const storable = (text: string) =>
  IS_PLAIN.test(text) ? text : text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');
const IS_PLAIN = /^[ -~]*$/; // most are, and the other pattern takes ten times as long

/** NULL where the text is no number. */
export const toNumber = (text: Sql) => sql`skein_number(${text})`;

/** Date-times in the one form of the wire: UTC with microseconds. */
export const wireTime = (time: Sql) =>
  sql`to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** The select list, in wire form. Only whole columns can be selected; a name given twice is selected once. */
export function select(columns: Columns, names: readonly string[], path = 'fields'): Sql {
  const items = names.map((name, i): [string, Sql] => {
    const found = Object.hasOwn(columns, name) ? columns[name]! : undefined;
    if (!found || typeof found === 'function') throw unknownField(name, `${path}[${i}]`);
    const value = found.type === 'time' ? wireTime(found.sql) : found.sql;
    return [name, sql`${value} AS ${identifier(name)}`];
  });
  return join([...new Map(items).values()]);
}

export interface Sort<Field extends string = string> {
  field: Field;
  direction: 'asc' | 'desc';
}

/**
 * A total order: NULLs last in both directions, the tie-breaker at the end unless the caller sorted by it. Text
 * goes by code point; values inside JSON go numbers first, by size, then everything else as text.
 */
export function orderBy<Name extends string>(
  columns: Columns<Name>,
  sorts: readonly Sort[] | null | undefined,
  tieBreaker: NoInfer<Name>,
): Sql {
  const keys = sortedOperands(columns, sorts, tieBreaker).flatMap(({ direction, operand }) => {
    const order =
      direction === 'desc'
        ? operand.isNotNull
          ? sql`DESC`
          : sql`DESC NULLS LAST`
        : sql`ASC NULLS LAST`;
    return sortKeys(operand).map((key) => sql`${key} ${order}`);
  });
  return sql`ORDER BY ${join(keys)}`;
}

/** The keys of an order, with the tie-breaker. */
export function sortedOperands<Name extends string>(
  columns: Columns<Name>,
  sorts: readonly Sort[] | null | undefined,
  tieBreaker: NoInfer<Name>,
): (Sort & { operand: Operand })[] {
  const given = sorts ?? [];
  const names = nameBudget();
  const isBroken = given.some(({ field }) => field === tieBreaker);
  const all = isBroken ? given : [...given, { field: tieBreaker, direction: 'asc' } as const];
  const operands = all.map(({ field }, i) => resolve(columns, field, `sort_by[${i}].field`, names));
  const large = operands.filter(({ within }) => within).length;
  return all.map(({ field, direction }, i) => {
    const { within, ...operand } = operands[i]!;
    if (!within || large <= PLAIN_VALUES) return { field, direction, operand };
    return { field, direction, operand: { ...operand, sql: within(extractedShare(2 * large)) } };
  });
}

function sortKeys({ type, sql: value }: Operand): Sql[] {
  if (type === 'json') return [toNumber(value), wordsWithoutNumbers(value)];
  return [type === 'text' ? byCodePoint(value) : value];
}

/**
 * What is no number inside JSON, as it sorts. Numbers are empty here, so that those of one size are ties, however each is
 * spelled: who read `1.0` may know it as 1. Reads the value once: CASE would parse the JSON of each text twice.
 */
export const wordsWithoutNumbers = (value: Sql) =>
  byCodePoint(sql`regexp_replace(${value}, ${NUMBER_PATTERN}::text, '')`);
const NUMBER_PATTERN = new Parameter(NUMBER);

interface Page {
  limit?: number | null | undefined;
  offset?: number | null | undefined;
}

/** The rows of a page; all without a limit. */
export const page = ({ limit, offset }: Page) =>
  sql`LIMIT ${limit ?? null}::bigint OFFSET ${offset ?? null}::bigint`;

/** PostgreSQL drops this where the column is declared so already: an index on the column still serves. */
export const byCodePoint = (text: Sql) => sql`${text} COLLATE "C"`;

/** A budget of one part of a request, and what is left of it. */
export class NameBudget {
  private used = 0;

  constructor(
    private readonly max: number,
    private readonly what: string,
  ) {}

  /** `path` says where in the request the bytes stand. */
  spend(bytes: number, path: string): void {
    this.used += bytes;
    if (this.used > this.max)
      throw new InvalidQuery(path, `exceeds the limit of ${this.max} ${this.what}`);
  }
}

/**
 * For the names of one `query`, `sort_by` or `fields`. A name binds at most two parameters for five of its bytes, and
 * `sort_by` is read once more for `after`, so that all of a request stay below the 65,535 parameters of a statement.
 */
export const nameBudget = () => new NameBudget(MAX_NAME_BYTES, 'bytes for all field names');
export const MAX_NAME_BYTES = 32 * 1024;

/** The steps of a name that a client wrote. */
export function pathSteps(name: unknown, path: string, names: NameBudget): string[] {
  if (typeof name !== 'string') throw new InvalidQuery(path, 'must be the name of a field');
  if (name.length > MAX_NAME)
    throw new InvalidQuery(path, `must not be longer than ${MAX_NAME} characters`);
  names.spend(Buffer.byteLength(name), path);
  const steps = parsePath(name);
  if (steps.length > MAX_STEPS)
    throw new InvalidQuery(path, `must not have more than ${MAX_STEPS} steps`);
  return steps;
}
export const MAX_NAME = 1000;
export const MAX_STEPS = 64;

/** Resolves a dotted name. The longest entry of the table that begins the name wins. */
export function resolve(columns: Columns, name: unknown, path: string, names: NameBudget): Operand {
  const segments = pathSteps(name, path, names);
  for (let end = Math.min(segments.length, longestKey(columns)); end > 0; end -= 1) {
    const key = segments.slice(0, end).map(escapedStep).join('.');
    const found = Object.hasOwn(columns, key)
      ? readColumn(columns[key]!, segments.slice(end), path)
      : undefined;
    if (found) return found;
  }
  throw unknownField(name as string, path);
}

/** How many steps the longest name of a table has, or more. */
function longestKey(columns: Columns): number {
  let longest = longestKeys.get(columns);
  if (longest === undefined) {
    longest = Math.max(0, ...Object.keys(columns).map((key) => key.split('.').length));
    longestKeys.set(columns, longest);
  }
  return longest;
}
const longestKeys = new WeakMap<Columns, number>();

function readColumn(found: Column, rest: readonly string[], place: string): Operand | undefined {
  if (typeof found === 'function') return found(rest, place);
  if (found.type === 'document') return jsonAt(found, rest);
  return rest.length === 0 ? found : undefined;
}

export const unknownField = (name: string, path: string) =>
  new InvalidQuery(path, `names an unknown field ${quoteWord(name)}`);

/** A caller's word as it may stand in a message. */
export const quoteWord = (word: string) =>
  JSON.stringify(word.length > 64 ? `${word.slice(0, 64)}…` : word);

/**
 * `a.b.0` is three steps. `\.` is a dot within a step, `\\` a backslash, `\[` a bracket; a step in brackets is
 * taken as it stands: `feedback.[svc.note.1].payload`. Reads each character at most three times.
 */
export function parsePath(name: string): string[] {
  const steps: string[] = [];
  let closing = 0; // the first closing bracket that may end the step at hand
  for (let start = 0; start <= name.length;) {
    if (name[start] === '[') {
      if (closing <= start) closing = closingBracket(name, start);
      if (closing < name.length) {
        steps.push(name.slice(start + 1, closing));
        start = closing + 2;
        continue;
      }
    }
    PLAIN.lastIndex = start;
    const [plain] = PLAIN.exec(name)!;
    steps.push(plain.replaceAll(/\\([.\\[])/g, '$1'));
    start += plain.length + 1;
  }
  return steps;
}
const PLAIN = /(?:\\[.\\[]|[^.])*/y;

/** The position of the first bracket after `start` that ends a step; the length of the name if there is none. */
function closingBracket(name: string, start: number): number {
  ENDING.lastIndex = start;
  return ENDING.exec(name)?.index ?? name.length;
}
const ENDING = /\](?=\.|$)/g;

/** A step as a path spells it, so that `parsePath` reads it as it was. */
export const escapedStep = (step: string) => step.replaceAll(/[\\.[]/g, String.raw`\$&`);
