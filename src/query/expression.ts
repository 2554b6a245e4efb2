import {
  byCodePoint,
  InvalidQuery,
  quoted,
  resolve,
  type Columns,
  type Operand,
} from './columns.js';
import * as operands from './operands.js';
import type { Comparison, Scalar, Target, Value } from './operands.js';
import { join, sql, type Sql } from './sql.js';

export const MAX_DEPTH = 32;
export const MAX_NODES = 1000;

/**
 * Compiles the `query` of a request, `{ "$expr": <condition> }`, against the columns of one resource into a
 * parenthesised boolean expression. Every value is bound, every name comes from `columns`, and whatever is no query
 * is `InvalidQuery`; running the SQL cannot fail for what the rows hold. The language: docs/adr/0010-query-language.md.
 */
export function compile(query: unknown, columns: Columns): Sql {
  if (!isObject(query)) throw new InvalidQuery('query', 'expected an object with $expr');
  const argument = Object.hasOwn(query, '$expr') ? query['$expr'] : undefined;
  return new Node(argument, 'query.$expr', { columns, nodes: 0 }).condition();
}

interface Scope {
  readonly columns: Columns;
  nodes: number;
}

/** A node of the tree with its place: in the request (`path`) and below the root (`depth`). */
class Node {
  constructor(
    private readonly json: unknown,
    private readonly path: string,
    private readonly scope: Scope,
    private readonly depth = 1,
  ) {}

  /** As something that is true or not (or NULL). */
  condition(): Sql {
    const [operator, argument] = this.open();
    if (Object.hasOwn(CONDITIONS, operator)) return CONDITIONS[operator]!(argument);
    return operands.truth(this.valueOf(operator, argument));
  }

  /** As something that can be compared. A condition is a value of type bool. */
  value(): Value {
    const [operator, argument] = this.open();
    if (!Object.hasOwn(CONDITIONS, operator)) return this.valueOf(operator, argument);
    return { type: 'bool', sql: CONDITIONS[operator]!(argument) };
  }

  private valueOf(operator: string, argument: Node): Value {
    if (Object.hasOwn(VALUES, operator)) return VALUES[operator]!(argument);
    throw this.invalid(`unknown operator ${quoted(operator)}`);
  }

  /** The one operator of this node and its argument; counts the node against the limits. */
  private open(): [string, Node] {
    const entries = isObject(this.json) ? Object.entries(this.json) : [];
    if (entries.length !== 1) throw this.invalid('expected an object with exactly one operator');
    this.scope.nodes += 1;
    if (this.scope.nodes > MAX_NODES) throw this.invalid(`more than ${MAX_NODES} nodes`);
    if (this.depth > MAX_DEPTH) throw this.invalid(`deeper than ${MAX_DEPTH} levels`);
    const [operator, argument] = entries[0]!;
    return [operator, this.child(argument, `.${operator}`)];
  }

  private child(json: unknown, step: string, depth = this.depth): Node {
    return new Node(json, this.path + step, this.scope, depth);
  }

  /** This argument as a list of nodes, one level down. */
  list(min: number, max = Infinity): Node[] {
    const { json } = this;
    if (!Array.isArray(json) || json.length < min || json.length > max) {
      const size = max === Infinity ? `at least ${min}` : `exactly ${min}`;
      throw this.invalid(`expected an array, items: ${size}`);
    }
    if (json.length > MAX_NODES) throw this.invalid(`more than ${MAX_NODES} nodes`);
    return Array.from(json, (item: unknown, i) => this.child(item, `[${i}]`, this.depth + 1));
  }

  pair(): [Node, Node] {
    const [a, b] = this.list(2, 2);
    return [a!, b!];
  }

  /** A member of this argument, one level down; undefined where it is missing. */
  member(name: string): Node {
    if (!isObject(this.json)) throw this.invalid('expected an object');
    const value = Object.hasOwn(this.json, name) ? this.json[name] : undefined;
    return this.child(value, `.${name}`, this.depth + 1);
  }

  scalar(): Scalar {
    const { json } = this;
    if (json === null || typeof json === 'string' || typeof json === 'boolean') return json;
    if (typeof json === 'number' && Number.isFinite(json)) return json;
    throw this.invalid('expected a string, a finite number, a boolean or null');
  }

  oneOf<T>(choices: ReadonlyMap<unknown, T>): T {
    if (choices.has(this.json)) return choices.get(this.json)!;
    const words = [...choices.keys()].filter((choice) => choice !== undefined && choice !== null);
    throw this.invalid(`expected one of ${words.map(String).join(', ')}`);
  }

  field(): Operand {
    return resolve(this.scope.columns, this.json, this.path);
  }

  private invalid(problem: string): InvalidQuery {
    return new InvalidQuery(this.path, problem);
  }
}

const all = (separator: string) => (argument: Node) =>
  sql`(${join(
    argument.list(1).map((item) => item.condition()),
    separator,
  )})`;
const comparison = (operator: Comparison) => (argument: Node) => {
  const [a, b] = argument.pair();
  return operands.compare(operator, a.value(), b.value());
};

/** Operators that answer yes, no or NULL. */
const CONDITIONS: Readonly<Record<string, (argument: Node) => Sql>> = {
  $and: all(' AND '),
  $or: all(' OR '),
  $not: (argument) => sql`(NOT ${argument.list(1, 1)[0]!.condition()})`,
  $eq: comparison('$eq'),
  $ne: comparison('$ne'),
  $gt: comparison('$gt'),
  $gte: comparison('$gte'),
  $lt: comparison('$lt'),
  $lte: comparison('$lte'),
  $in: isIn,
  $contains: contains,
};

/** Operators that answer a value. */
const VALUES: Readonly<Record<string, (argument: Node) => Value>> = {
  $literal: (argument) => ({ literal: argument.scalar() }),
  $getField: (argument) => argument.field(),
  $convert: convert,
};

/**
 * `$eq` with any of the list, so a null in it finds the missing. Literals that meet the value in one type are one
 * parameter. Where that leaves several comparisons, a sub-select computes the value once: repeated at every level
 * of a nested tree it would grow the statement exponentially.
 */
function isIn(argument: Node): Sql {
  const [left, right] = argument.pair();
  const value = left.value();
  const items = right.list(0).map((item) => item.value());
  const answers = isAnyOf(value, items);
  if (answers.length === 0) return sql`FALSE`;
  if (answers.length === 1 || operands.isLiteral(value)) return sql`(${join(answers, ' OR ')})`;
  const once = isAnyOf({ type: value.type, sql: sql`in_operand.value` }, items);
  return sql`(SELECT ${join(once, ' OR ')} FROM (SELECT ${value.sql} AS value OFFSET 0) in_operand)`;
}

function isAnyOf(value: Value, items: readonly Value[]): Sql[] {
  const literals = new Map<Target, Scalar[]>();
  const rest: Value[] = [];
  for (const item of items) {
    if (operands.isLiteral(value) || !operands.isLiteral(item) || item.literal === null) {
      rest.push(item);
    } else {
      const type = operands.commonType(value.type, operands.literalType(item));
      literals.set(type, [...(literals.get(type) ?? []), item.literal]);
    }
  }
  const arrays = Array.from(
    literals,
    ([type, list]) => sql`${operands.cast(value, type)} = ANY(${operands.boundArray(list, type)})`,
  );
  return [...arrays, ...rest.map((item) => operands.compare('$eq', value, item))];
}

/** Whether a text occurs in another. Folding case, each letter of a literal also stands for its other case. */
function contains(argument: Node): Sql {
  const input = operands.cast(argument.member('input').value(), 'text');
  const substr = argument.member('substr').value();
  const isFolded = argument.member('case_insensitive').oneOf(FLAGS);
  const [haystack, needle] = isFolded
    ? folded(input, substr)
    : [input, operands.cast(substr, 'text')];
  return sql`(strpos(${haystack}, ${needle}) > 0)`;
}
const FLAGS = new Map<unknown, boolean>([
  [true, true],
  [false, false],
  [null, false],
  [undefined, false],
]);

/**
 * Under collation "C", the only one that every server has, `lower` knows ASCII alone. The other letters of a literal
 * are known here, so their capitals are translated by name; a `substr` that is a field folds ASCII only.
 */
function folded(input: Sql, substr: Value): [Sql, Sql] {
  const ascii = sql`lower(${byCodePoint(input)})`;
  if (!operands.isLiteral(substr)) {
    return [ascii, sql`lower(${byCodePoint(operands.cast(substr, 'text'))})`];
  }
  const letters = Array.from(String(operands.castLiteral(substr.literal, 'text') ?? ''), lower);
  const needle = operands.cast(
    { literal: operands.isNull(substr) ? null : letters.join('') },
    'text',
  );
  const capitals = new Map(letters.map((letter) => [upper(letter), letter]));
  for (const [capital, letter] of capitals) {
    if (capital === letter || capital < '\x80') capitals.delete(capital);
  }
  if (capitals.size === 0) return [ascii, needle];
  const from = [...capitals.keys()].join('');
  const to = [...capitals.values()].join('');
  return [sql`translate(${ascii}, ${from}::text, ${to}::text)`, needle];
}
/** The other case of a letter where that is one letter too. */
const oneLetter = (letter: string, other: string) =>
  Array.from(other).length === 1 ? other : letter;
const lower = (letter: string) => oneLetter(letter, letter.toLowerCase());
const upper = (letter: string) => oneLetter(letter, letter.toUpperCase());

function convert(argument: Node): Value {
  const input = argument.member('input').value();
  return argument.member('to').oneOf(CONVERSIONS)(input);
}
const CONVERSIONS = new Map<unknown, (input: Value) => Value>([
  ['double', (input) => ({ type: 'number', sql: operands.cast(input, 'number') })],
  [
    'int',
    (input) => ({ type: 'number', sql: sql`trunc(${operands.cast(input, 'number')}::numeric)` }),
  ],
  ['string', (input) => ({ type: 'text', sql: operands.cast(input, 'text') })],
  ['bool', (input) => ({ type: 'bool', sql: operands.cast(input, 'bool') })],
  [
    'exists',
    (input) =>
      operands.isLiteral(input)
        ? { literal: input.literal !== null }
        : { type: 'bool', sql: sql`(${input.sql} IS NOT NULL)` },
  ],
]);

type Json = Record<string, unknown>;
const isObject = (json: unknown): json is Json =>
  typeof json === 'object' && json !== null && !Array.isArray(json);
