/** A value that is bound once in a statement, however often it is used. */
export class Parameter {
  constructor(readonly value: unknown) {}
}

/**
 * SQL text with the values that it binds. Fragments can be nested; `toQuery` assigns every `$n`. A fragment that is
 * used several times binds its values each time, a `Parameter` only once. `Row` is the type of the rows that the
 * statement returns.
 */
export class Sql<Row = unknown> {
  declare readonly rows?: Row[];

  constructor(
    private readonly strings: readonly string[],
    private readonly parts: readonly unknown[] = [],
  ) {}

  /** Returns text and values. `label` is the name of the statement in logs and traces. */
  toQuery(): { text: string; values: unknown[]; label: string | undefined } {
    const values: unknown[] = [];
    return { text: this.render(values, new Map()), values, label: this.label };
  }

  /**
   * Name of the function that wrote the statement, such as `threads.query:threadsQuery`. For general fragments it is
   * the function that wrote their parts.
   */
  private get label(): string | undefined {
    const own = WRITERS.get(this.strings);
    if (own) return own;
    for (const part of this.parts) {
      const label = part instanceof Sql ? part.label : undefined;
      if (label) return label;
    }
    return undefined;
  }

  private render(values: unknown[], places: Map<Parameter, number>): string {
    return this.strings.reduce((text, next, i) => {
      const part = this.parts[i - 1];
      if (part instanceof Sql) return text + part.render(values, places) + next;
      if (!(part instanceof Parameter)) return `${text}$${values.push(part)}${next}`;
      const place = places.get(part) ?? values.push(part.value);
      places.set(part, place);
      return `${text}$${place}${next}`;
    });
  }
}

/** Names of the functions that wrote each text, set on first use. Empty for the general fragments of this folder. */
const WRITERS = new WeakMap<readonly string[], string>();
const FRAME = /at (?:(?:new )?([\w.#$<>]+) )?.*?([^/\\(]+)\.[jt]s:\d/;
const GENERAL = /[/\\]platform[/\\]query[/\\]/;

/**
 * Returns the name of the function that called `sql`, from the first line of its stack. This takes some microseconds.
 */
function writer(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 1;
  const place = { stack: '' };
  Error.captureStackTrace(place, sql);
  Error.stackTraceLimit = stackTraceLimit;
  if (GENERAL.test(place.stack)) return '';
  const [, name, file] = FRAME.exec(place.stack) ?? [];
  return [file, name].filter(Boolean).join(':');
}

/** Builds a statement. A part that is `Sql` is inserted as text; every other part becomes a bound value. */
export function sql<Row>(strings: TemplateStringsArray, ...parts: unknown[]): Sql<Row> {
  if (!WRITERS.has(strings)) WRITERS.set(strings, writer());
  return new Sql(strings, parts);
}

export const identifier = (name: string) => new Sql([`"${name.replaceAll('"', '""')}"`]);

export function join<Row>(parts: readonly Sql<Row>[], separator = ', '): Sql<Row> {
  if (parts.length === 0) return new Sql(['']);
  return new Sql(['', ...parts.slice(1).map(() => separator), ''], parts);
}

/** Inserts a whole number into the text, for places where Citus does not accept a bound value. */
export const constant = (value: number) => new Sql([BigInt(value).toString()]);

/** Joins the conditions with AND, and skips absent ones. Without any condition it is `TRUE`. */
export function allOf(...conditions: (Sql | false | null | undefined | '')[]): Sql {
  const present = conditions.filter((condition) => condition instanceof Sql);
  return present.length === 0 ? sql`TRUE` : join(present, ' AND ');
}

/** Joins the conditions with OR. The list must not be empty. */
export const anyOf = (conditions: readonly Sql[]) => sql`(${join(conditions, ' OR ')})`;

/**
 * Returns the condition that the value is in a long list. The list is a table and not an `= ANY`. The planner estimates
 * each project at 1/200 of its table (docs/adr/0007-no-statistics-of-projects.md). With `= ANY` it reads a whole
 * project of a million calls to find 500 ids, instead of looking up each id.
 */
export const isListed = (value: Sql, list: readonly string[]) =>
  sql`${value} IN (SELECT unnest(${list}::text[]))`;

/** Returns the condition that the value is in a list, or null when the list is missing or empty. */
export const isOneOf = (value: Sql, list: readonly string[] | null | undefined) =>
  list?.length ? sql`${value} = ANY(${list}::text[])` : null;

declare const fromSql: unique symbol;

/** A statement that each connection parses and plans once, with its values. Only `prepared` creates its text. */
export interface PreparedStatement<Row = unknown> {
  readonly rows?: Row[];
  name: string;
  /** Name of the function that wrote the statement. Logs and traces use `name`. */
  label: string | undefined;
  text: string & { [fromSql]: true };
  values: unknown[];
}

/** Returns the text of a statement and the name under which connections keep it. The values in `query` are ignored. */
export const prepared = <Row>(
  name: string,
  query: Sql<Row>,
): Omit<PreparedStatement<Row>, 'values'> => {
  const { text, label } = query.toQuery();
  return { name, label, text: text as PreparedStatement['text'] };
};
