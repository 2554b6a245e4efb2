/** A value that is bound once in a statement, in however many places it stands. */
export class Parameter {
  constructor(readonly value: unknown) {}
}

/**
 * SQL text with the values it binds. Fragments nest; `$n` is assigned once, by `toQuery`. A fragment used
 * in several places binds its values once for each place, a `Parameter` only once. A statement says the type of the rows
 * that it answers.
 */
export class Sql<Row = unknown> {
  declare readonly rows?: Row[];

  constructor(
    private readonly strings: readonly string[],
    private readonly parts: readonly unknown[] = [],
  ) {}

  /** With what logs and traces call the statement. */
  toQuery(): { text: string; values: unknown[]; label: string | undefined } {
    const values: unknown[] = [];
    return { text: this.render(values, new Map()), values, label: this.label };
  }

  /** The function that wrote it, such as `threads.query:threadsQuery`; of a general form, the one that wrote what is in it. */
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

/** Which function each text stands in, noted when it is first used; '' for the general forms of this folder. */
const WRITERS = new WeakMap<readonly string[], string>();
const FRAME = /at (?:(?:new )?([\w.#$<>]+) )?.*?([^/\\(]+)\.[jt]s:\d/;
const GENERAL = /[/\\]platform[/\\]query[/\\]/;

/** Of the function that called `sql`: the first line of its stack, which takes some microseconds. */
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

/** A part that is `Sql` is spliced in; any other part becomes a bound value. */
export function sql<Row>(strings: TemplateStringsArray, ...parts: unknown[]): Sql<Row> {
  if (!WRITERS.has(strings)) WRITERS.set(strings, writer());
  return new Sql(strings, parts);
}

export const identifier = (name: string) => new Sql([`"${name.replaceAll('"', '""')}"`]);

export function join<Row>(parts: readonly Sql<Row>[], separator = ', '): Sql<Row> {
  if (parts.length === 0) return new Sql(['']);
  return new Sql(['', ...parts.slice(1).map(() => separator), ''], parts);
}

/** A whole number that is part of a statement, for places where a distributed database takes no bound value. */
export const constant = (value: number) => new Sql([BigInt(value).toString()]);

/** AND of the conditions that apply; absent ones are skipped, and nothing at all is `TRUE`. */
export function allOf(...conditions: (Sql | false | null | undefined | '')[]): Sql {
  const present = conditions.filter((condition) => condition instanceof Sql);
  return present.length === 0 ? sql`TRUE` : join(present, ' AND ');
}

/** At least one condition. */
export const anyOf = (conditions: readonly Sql[]) => sql`(${join(conditions, ' OR ')})`;

/**
 * The value is in a list of many. As a table, and not as `= ANY`: the planner takes a project for 1/200 of its table
 * (docs/adr/0007-no-statistics-of-projects.md), and reads all of a project of a million calls to find 500 by their ids, instead
 * of looking each up.
 */
export const isListed = (value: Sql, list: readonly string[]) =>
  sql`${value} IN (SELECT unnest(${list}::text[]))`;

/** Whether a value is in a list; nothing to ask where there is no list, or an empty one. */
export const isOneOf = (value: Sql, list: readonly string[] | null | undefined) =>
  list?.length ? sql`${value} = ANY(${list}::text[])` : null;

declare const fromSql: unique symbol;

/** A statement that each connection parses and plans once, and its values. Only `prepared` makes its text. */
export interface PreparedStatement<Row = unknown> {
  readonly rows?: Row[];
  name: string;
  text: string & { [fromSql]: true };
  values: unknown[];
}

/** The text of a statement under the name by which connections keep it; the values it was written with do not count. */
export const prepared = <Row>(
  name: string,
  query: Sql<Row>,
): Omit<PreparedStatement<Row>, 'values'> => ({
  name,
  text: query.toQuery().text as PreparedStatement['text'],
});
