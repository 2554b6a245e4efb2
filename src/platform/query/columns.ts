import { NUMBER } from './literal-patterns.js';
import { identifier, join, Parameter, sql, type Sql } from './sql.js';

/**
 * Thrown for a query that cannot be answered. `path` is the position in the request, such as `query.$expr.$and[0].$eq`.
 */
export class InvalidQuery extends Error {
  constructor(
    readonly path: string,
    readonly problem: string,
  ) {
    super(`${path}: ${problem}`);
  }
}

/**
 * One value of a row. `sql` is a column, a function call or a parenthesised expression. Its PostgreSQL type is text
 * (`text`), numeric or any integer (`number`), boolean (`bool`), or timestamptz (`time`). `json` is the value at a path
 * of a JSON column, as text: strings without their quotes, everything else as it was written. It is NULL for a missing
 * value and for a JSON null.
 */
export interface Operand {
  readonly type: 'text' | 'number' | 'bool' | 'time' | 'json';
  readonly sql: Sql;
  /** True when `sql` is never NULL, so that a descending sort can walk an ordinary index backwards. */
  readonly isNotNull?: boolean;
  /**
   * For values that may be large: returns SQL of the same value that keeps no memory used to extract it. The statement
   * fails when the value has more bytes than the limit.
   */
  readonly within?: (bytes: number) => Sql;
  /** Column and path of a value in a document. Several values of one document can then be extracted together. */
  readonly at?: { readonly column: JsonColumn; readonly path: readonly string[] };
  /** For a value in a document: returns SQL of its `json_typeof`, which tells a list from a string that spells one. */
  readonly kind?: () => Sql;
  /** True when a `number` is a PostgreSQL integer. Only another integer can use an index on it. */
  readonly isInteger?: boolean;
  /** True when a `number` may have more digits than a double, and clients compute it as a sum of doubles. */
  readonly isSum?: boolean;
  /**
   * Conditions that can replace `=` for a text, keyed by the literal it is compared to. A partial index may use them.
   */
  readonly cases?: Pick<ReadonlyMap<string, Sql>, 'get'>;
}

/** A column of type `json`. `isOpaque` is true in rows whose free-form JSON PostgreSQL's json functions refuse. */
export interface JsonColumn {
  readonly type: 'document';
  readonly sql: Sql;
  readonly isOpaque: Sql;
}

/**
 * Resolves a dotted name after its prefix, or returns undefined when no such field exists. `place` is the position of
 * the name in the request.
 */
export type NamePrefix = (path: readonly string[], place: string) => Operand | undefined;

type Column = Operand | JsonColumn | NamePrefix;

/**
 * The fields that a resource exposes: how to read each wire name. Used by SELECT, `fields`, `sort_by` and `$getField`.
 * A key may be dotted (`summary.svc.status`); it then takes precedence over the JSON column of its first step.
 */
export type Columns<Name extends string = string> = Readonly<Record<Name, Column>>;

type Options = Pick<Operand, 'isNotNull' | 'isInteger' | 'isSum' | 'cases' | 'within'>;
const typedOperand =
  (type: Operand['type']) =>
  (value: Sql, options: Options = {}): Operand => ({ type, sql: value, ...options });

/** Constructors of operands, one line per entry of a table: `id: column.text(sql`c.id`, { isNotNull: true })`. */
export const column = {
  text: typedOperand('text'),
  number: typedOperand('number'),
  bool: typedOperand('bool'),
  time: typedOperand('time'),
  json: (value: Sql, isOpaque: Sql): JsonColumn => ({ type: 'document', sql: value, isOpaque }),
};

/**
 * Returns the value at a path of a JSON column. Digits in the path index arrays. Every accessor of type `json` fails on
 * a text that contains `\u0000` or half a surrogate pair. So rows flagged as opaque are read through a function that
 * replaces these with U+FFFD. For 100,000 rows of 1.8 KB, ms of a serial scan on PostgreSQL 15 / 18:
 * - no guard 886 / 676
 * - the flag 894 / 659
 * - a test of the text instead 1928 / 2049
 * - always the function 4384 / 5153
 */
export const jsonAt = (column: JsonColumn, path: readonly string[]): Operand => ({
  type: 'json',
  sql: atPath(column, path, sql`#>>`),
  within: (bytes) =>
    sql`skein_text_at(${column.sql}, ${column.isOpaque}, ${new Parameter(path.map(storable))}::text[], ${bytes}::int)`,
  at: { column, path },
  kind: () => sql`json_typeof(${jsonValueAt(column, path)})`,
});

/**
 * Returns the `json_typeof` of a value that was extracted as `text`. Only a text that begins like an object or a list
 * needs the document for it. Every other text counts as a string.
 */
export const extractedKind = ({ column, path }: NonNullable<Operand['at']>, text: Sql): Sql =>
  sql`CASE WHEN left(${text}, 1) IN ('{', '[') THEN skein_kind_at(${column.sql}, ${column.isOpaque}, ${new Parameter(path.map(storable))}::text[]) ELSE 'string' END`;

/**
 * Returns the values at several paths of a document as an array, each within a limit. Common prefixes of the paths are
 * read once.
 */
export const jsonAtAll = (
  column: JsonColumn,
  paths: readonly (readonly string[])[],
  bytes: number,
) =>
  sql`skein_texts_at(${column.sql}, ${column.isOpaque}, ${JSON.stringify(paths.map((path) => path.map(storable)))}::json, ${bytes}::int)`;

/**
 * Number of large values that a statement may extract from a row by plain expressions, which indexes can use. Each
 * value of a call of 30 MiB takes PostgreSQL 60 to 120 MB until the row is finished. More values than this are
 * extracted one after the other and limited in size.
 */
export const PLAIN_VALUES = 3;
/**
 * Most bytes that a statement extracts from one row when it extracts more than `PLAIN_VALUES` values. Copies may double
 * it.
 */
export const MAX_EXTRACTED_BYTES = 128 * 1024 * 1024;
export const extractedShare = (values: number) => Math.floor(MAX_EXTRACTED_BYTES / values);

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
/**
 * Matches steps that PostgreSQL reads as array indexes, of which it counts negative ones in the wrong array. `->` reads
 * them as keys.
 */
const SIGNED = /^\s*[-+]\d+$|^\s+\d+$/;

/**
 * Upper limit of the bytes of a stored text or document, computed without reading it. PostgreSQL only knows its
 * compressed size. Three bytes of `pglz` stand for at most 273, each byte of `lz4` for at most 255.
 */
export const mostBytes = (value: Sql) => sql`coalesce(pg_column_size(${value})::bigint
  * CASE pg_column_compression(${value}) WHEN 'pglz' THEN 91 WHEN 'lz4' THEN 255 ELSE 1 END, 0)`;

/**
 * Returns the text as PostgreSQL can store it, with U+FFFD for NUL and half surrogate pairs, as in `skein_safe_json`.
 */
export const storable = (text: string) =>
  IS_PLAIN.test(text) ? text : text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');
const IS_PLAIN = /^[ -~]*$/; // matches most texts; the other pattern takes ten times as long

/** Converts a text to a number, or to NULL when it is not a number. */
export const toNumber = (text: Sql) => sql`skein_number(${text})`;

/** Formats a time as answers print it: UTC with microseconds. */
export const wireTime = (time: Sql) =>
  sql`to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/**
 * Returns the select list in wire format. Only whole columns can be selected. A name that occurs twice is selected
 * once.
 */
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
 * Returns a total order: NULLs last in both directions, and the tie-breaker last unless the caller sorts by it. Text is
 * sorted by code point. Values inside JSON are sorted with numbers first, then everything else as text.
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
 * Returns the second sort key of a value inside JSON: its text, or an empty text for a number. Equal numbers are thus
 * ties however they are spelled, because a client that read `1.0` may know it as 1. Reads the value once; CASE would
 * parse its JSON twice.
 */
export const wordsWithoutNumbers = (value: Sql) =>
  byCodePoint(sql`regexp_replace(${value}, ${NUMBER_PATTERN}::text, '')`);
const NUMBER_PATTERN = new Parameter(NUMBER);

interface Page {
  limit?: number | null | undefined;
  offset?: number | null | undefined;
}

export const page = ({ limit, offset }: Page) =>
  sql`LIMIT ${limit ?? null}::bigint OFFSET ${offset ?? null}::bigint`;

/**
 * Compares a text by code point. PostgreSQL drops this for columns declared with "C", so an index on the column still
 * serves.
 */
export const byCodePoint = (text: Sql) => sql`${text} COLLATE "C"`;

/** Limits one kind of size in one part of a request. */
export class NameBudget {
  private used = 0;

  constructor(
    private readonly max: number,
    private readonly what: string,
  ) {}

  /**
   * `path` is the position of the bytes in the request.
   * @throws InvalidQuery when the budget is exceeded
   */
  spend(bytes: number, path: string): void {
    this.used += bytes;
    if (this.used > this.max)
      throw new InvalidQuery(path, `exceeds the limit of ${this.max} ${this.what}`);
  }
}

/**
 * Limits the names of one `query`, `sort_by` or `fields`. A name binds at most two parameters per five of its bytes,
 * and `after` reads `sort_by` once more. So the parameters of a request stay below the 65,535 of a statement.
 */
export const nameBudget = () => new NameBudget(MAX_NAME_BYTES, 'bytes for all field names');
export const MAX_NAME_BYTES = 32 * 1024;

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

/** Resolves a dotted name. The longest key of the table that begins the name wins. */
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

/** Returns the number of steps of the longest key of a table, or more. */
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

/** Quotes and shortens a word of the caller for a message. */
export const quoteWord = (word: string) =>
  JSON.stringify(word.length > 64 ? `${word.slice(0, 64)}…` : word);

/**
 * Splits a field name into steps: `a.b.0` has three. `\.` is a dot within a step, `\\` a backslash, `\[` a bracket. A
 * step in brackets is taken literally: `feedback.[svc.note.1].payload`. Reads each character at most three times.
 */
export function parsePath(name: string): string[] {
  const steps: string[] = [];
  let closing = 0; // the first closing bracket that may end the current step
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

/** Returns the position of the first bracket after `start` that ends a step, or the length of the name. */
function closingBracket(name: string, start: number): number {
  ENDING.lastIndex = start;
  return ENDING.exec(name)?.index ?? name.length;
}
const ENDING = /\](?=\.|$)/g;

/** Escapes a step so that `parsePath` returns it unchanged. */
export const escapedStep = (step: string) => step.replaceAll(/[\\.[]/g, String.raw`\$&`);
