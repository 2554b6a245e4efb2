import {
  NameBudget,
  byCodePoint,
  InvalidQuery,
  nameBudget,
  PLAIN_VALUES,
  quoteWord,
  resolve,
  extractedShare,
  type Columns,
  type Operand,
} from './columns.js';
import { ExtractedValues } from './extracted-values.js';
import * as operands from './operands.js';
import type { Comparison, Scalar, OperandTarget, Value } from './operands.js';
import { join, sql, type Sql } from './sql.js';
import { computedOnce } from './plans.js';
import { saysNeedle } from './text-search.js';

export const MAX_DEPTH = 32;
export const MAX_NODES = 1000;
/** Most bytes of one text literal, and of all literals of a query. */
export const MAX_LITERAL = 64 * 1024;
export const MAX_LITERALS = 1024 * 1024;
export const MAX_SUBSTR = 4096;
/**
 * Most bytes of a text that `strpos` searches for. In a malicious text `strpos` compares the whole needle at each
 * position, and nothing interrupts it, not even `statement_timeout`. A regular expression takes linear time and can be
 * interrupted. For few bytes `strpos` is faster in ordinary texts and not much slower in any. Figures:
 * bench/strpos.mjs.
 */
const MAX_STRPOS = 64;
/**
 * Most letters beyond ASCII whose capitals `case_insensitive` matches. `translate` compares each letter of a text with
 * all of them.
 */
const MAX_CAPITALS = 64;
/** Most relations of a query, and most relations inside each other. */
const MAX_RELATIONS = 8;
const MAX_NESTED_RELATIONS = 2;

/**
 * Operators over other rows of a resource, such as the parent of a call. Each takes a condition on the other row.
 * `$…_count` operators return the number of rows that fulfil it.
 */
export interface Relations {
  readonly conditions: Readonly<Record<string, (condition: Sql, key: string) => Sql>>;
  readonly counts: Readonly<Record<string, (condition: Sql | null) => Operand>>;
}
const NO_RELATIONS: Relations = { conditions: {}, counts: {} };

/** Identifies a relation within one request. */
export const relationKey = (operator: string, argument: unknown) =>
  operator + JSON.stringify(argument);

/**
 * Compiles the `query` of a request, `{ "$expr": <condition> }`, into a parenthesised boolean expression over the
 * columns of one resource. Every value is bound, and every name comes from `columns`. Stored rows cannot make the SQL
 * fail. The language: docs/adr/0010-query-language.md.
 * @throws InvalidQuery for anything that is not a valid query
 */
export function compile(query: unknown, columns: Columns, relations = NO_RELATIONS): Sql {
  if (!isObject(query)) throw new InvalidQuery('query', 'must be an object with $expr');
  const argument = Object.hasOwn(query, '$expr') ? query['$expr'] : undefined;
  const compiled = (taken?: ExtractedValues) => {
    const scope: Scope = {
      columns,
      relations,
      taken,
      large: 0,
      nodes: 0,
      related: 0,
      level: 0,
      names: nameBudget(),
      literals: new NameBudget(MAX_LITERALS, 'bytes for all literals'),
    };
    return {
      condition: new ExpressionNode(argument, 'query.$expr', scope).root(),
      uses: scope.large,
    };
  };
  const { condition, uses } = compiled();
  return uses <= PLAIN_VALUES
    ? condition
    : compiled(new ExtractedValues(extractedShare(uses))).condition;
}

interface Scope {
  readonly columns: Columns;
  readonly relations: Relations;
  taken: ExtractedValues | undefined;
  /** Number of uses of values that may be large. */
  large: number;
  nodes: number;
  /** Number of relations so far. */
  related: number;
  /** Number of relations around the current node. */
  level: number;
  readonly names: NameBudget;
  readonly literals: NameBudget;
}

/** A node of the tree. `path` is its position in the request, `depth` its level below the root. */
class ExpressionNode {
  constructor(
    private readonly json: unknown,
    private readonly path: string,
    private readonly scope: Scope,
    private readonly depth = 1,
  ) {}

  /**
   * Compiles the whole query to a condition. In an outermost $and, conditions with few large values stay plain, so that
   * indexes serve them.
   */
  root(): Sql {
    const { taken } = this.scope;
    if (!taken) return this.condition();
    const [operator, argument] = this.open();
    if (operator !== '$and') return taken.around(this.compileCondition(operator, argument));
    const plain: Sql[] = [];
    const rest: Sql[] = [];
    for (const item of argument.list(1)) {
      const { nodes, large, related } = this.scope;
      this.scope.taken = undefined;
      const condition = item.condition();
      this.scope.taken = taken;
      if (this.scope.large <= PLAIN_VALUES) plain.push(condition);
      else {
        Object.assign(this.scope, { nodes, large, related });
        rest.push(item.condition());
      }
    }
    return sql`(${join([...plain, taken.around(join(rest, ' AND '))], ' AND ')})`;
  }

  /** Compiles the node to a boolean expression, which may be NULL. */
  condition(): Sql {
    const [operator, argument] = this.open();
    return this.compileCondition(operator, argument);
  }

  private compileCondition(operator: string, argument: ExpressionNode): Sql {
    if (Object.hasOwn(CONDITIONS, operator)) return CONDITIONS[operator]!(argument);
    const { conditions } = this.scope.relations;
    if (Object.hasOwn(conditions, operator))
      return conditions[operator]!(argument.onOtherRow(), relationKey(operator, argument.json));
    return operands.truth(this.compileValue(operator, argument));
  }

  /** Compiles the node to a value that can be compared. A condition becomes a value of type bool. */
  value(): Value {
    const [operator, argument] = this.open();
    const { conditions } = this.scope.relations;
    return Object.hasOwn(CONDITIONS, operator) || Object.hasOwn(conditions, operator)
      ? { type: 'bool', sql: this.compileCondition(operator, argument) }
      : this.compileValue(operator, argument);
  }

  private compileValue(operator: string, argument: ExpressionNode): Value {
    if (Object.hasOwn(VALUES, operator)) return VALUES[operator]!(argument);
    const { counts } = this.scope.relations;
    if (Object.hasOwn(counts, operator))
      return counts[operator]!(argument.isEmpty ? null : argument.onOtherRow());
    throw this.invalid(`has an unknown operator ${quoteWord(operator)}`);
  }

  private get isEmpty(): boolean {
    return isObject(this.json) && Object.keys(this.json).length === 0;
  }

  /** Compiles the node to a condition on another row. Values that were extracted from this row are not used in it. */
  private onOtherRow(): Sql {
    const { scope } = this;
    const { taken, large, level } = scope;
    if (++scope.related > MAX_RELATIONS)
      throw this.invalid(`exceeds the limit of ${MAX_RELATIONS} relations to other calls`);
    if (level === MAX_NESTED_RELATIONS)
      throw this.invalid(`must not be inside ${MAX_NESTED_RELATIONS} other relations`);
    const fields = countFields(this.json);
    const own = fields > PLAIN_VALUES ? new ExtractedValues(extractedShare(fields)) : undefined;
    Object.assign(scope, { taken: own, level: level + 1 });
    const condition = this.condition();
    Object.assign(scope, { taken, large, level });
    return own ? own.around(condition) : condition;
  }

  /** Returns the only operator of this node and its argument. Counts the node against the limits. */
  private open(): [string, ExpressionNode] {
    const entries = isObject(this.json) ? Object.entries(this.json) : [];
    if (entries.length !== 1) throw this.invalid('must be an object with exactly one operator');
    this.scope.nodes += 1;
    if (this.scope.nodes > MAX_NODES) throw this.invalid(`exceeds the limit of ${MAX_NODES} nodes`);
    if (this.depth > MAX_DEPTH) throw this.invalid(`must not be deeper than ${MAX_DEPTH} levels`);
    const [operator, argument] = entries[0]!;
    return [operator, this.child(argument, `.${operator}`)];
  }

  private child(json: unknown, step: string, depth = this.depth): ExpressionNode {
    return new ExpressionNode(json, this.path + step, this.scope, depth);
  }

  list(min: number, max = Infinity): ExpressionNode[] {
    const { json } = this;
    if (!Array.isArray(json) || json.length < min || json.length > max) {
      const size = max === Infinity ? `at least ${min}` : `exactly ${min}`;
      throw this.invalid(`must be an array of ${size} ${min === 1 ? 'item' : 'items'}`);
    }
    if (json.length > MAX_NODES) throw this.invalid(`exceeds the limit of ${MAX_NODES} nodes`);
    return Array.from(json, (item: unknown, i) => this.child(item, `[${i}]`, this.depth + 1));
  }

  pair(): [ExpressionNode, ExpressionNode] {
    const [a, b] = this.list(2, 2);
    return [a!, b!];
  }

  /** Returns a member of this argument, one level down. A missing member has the JSON value undefined. */
  member(name: string): ExpressionNode {
    if (!isObject(this.json)) throw this.invalid('must be an object');
    const value = Object.hasOwn(this.json, name) ? this.json[name] : undefined;
    return this.child(value, `.${name}`, this.depth + 1);
  }

  scalar(): Scalar {
    const { json } = this;
    if (typeof json === 'string') {
      const bytes = Buffer.byteLength(json);
      if (bytes > MAX_LITERAL) throw this.invalid(`must not be longer than ${MAX_LITERAL} bytes`);
      this.scope.literals.spend(bytes, this.path);
      return json;
    }
    if (json === null || typeof json === 'boolean') return json;
    if (typeof json === 'number' && Number.isFinite(json)) return json;
    throw this.invalid('must be a string, a finite number, a boolean or null');
  }

  choose<T>(choices: ReadonlyMap<unknown, T>): T {
    if (choices.has(this.json)) return choices.get(this.json)!;
    const words = [...choices.keys()].filter((choice) => choice !== undefined && choice !== null);
    throw this.invalid(`must be one of ${words.map(String).join(', ')}`);
  }

  field(): Operand {
    const { columns, names, taken } = this.scope;
    const operand = resolve(columns, this.json, this.path, names);
    if (!operand.within) return operand;
    this.scope.large += 1;
    return taken ? taken.add(this.json as string, operand) : operand;
  }

  invalid(problem: string): InvalidQuery {
    return new InvalidQuery(this.path, problem);
  }
}

/** Returns at least the number of fields that a condition names. */
const countFields = (json: unknown) => JSON.stringify(json ?? null).split('$getField').length - 1;

const joinConditions = (separator: string) => (argument: ExpressionNode) =>
  sql`(${join(
    argument.list(1).map((item) => item.condition()),
    separator,
  )})`;
const comparison = (operator: Comparison) => (argument: ExpressionNode) => {
  const [a, b] = argument.pair();
  return operands.compare(operator, a.value(), b.value());
};

const CONDITIONS: Readonly<Record<string, (argument: ExpressionNode) => Sql>> = {
  $and: joinConditions(' AND '),
  $or: joinConditions(' OR '),
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

const VALUES: Readonly<Record<string, (argument: ExpressionNode) => Value>> = {
  $literal: (argument) => ({ literal: argument.scalar() }),
  $getField: (argument) => argument.field(),
  $convert: convert,
};

/**
 * Compiles `$in`, an `$eq` with any item of the list; a null in the list matches missing values. All literals that are
 * compared in one type are one parameter. A literal on the left is bound once per type. When several comparisons remain
 * for a computed value, a subquery computes it once. Repeating it at every level of a nested tree would grow the
 * statement exponentially.
 */
function isIn(argument: ExpressionNode): Sql {
  const [left, right] = argument.pair();
  const value = left.value();
  const items = right.list(0).map((item) => item.value());
  const cases = items.map((item) => operands.caseFold(value, item));
  if (cases.length > 0 && cases.every((found) => found !== undefined))
    return sql`(${join([...new Set(cases)], ' OR ')})`;
  const answers = isAnyOf(value, items);
  if (answers.length === 0) return sql`FALSE`;
  if (answers.length === 1 || operands.isLiteral(value)) return sql`(${join(answers, ' OR ')})`;
  const once = isAnyOf({ type: value.type, sql: sql`in_operand.value` }, items);
  return sql`(SELECT ${join(once, ' OR ')} FROM ${computedOnce(sql`SELECT ${value.sql} AS value`, 'in_operand')})`;
}

function isAnyOf(value: Value, items: readonly Value[]): Sql[] {
  if (operands.isNull(value)) return items.map((item) => operands.compare('$eq', value, item));
  const literals = new Map<OperandTarget, Scalar[]>();
  const rest: Value[] = [];
  for (const item of items) {
    if (!operands.isLiteral(item) || item.literal === null) rest.push(item);
    else {
      const type = operands.commonType(operands.valueType(value), operands.literalType(item));
      const list = literals.get(type);
      if (list) list.push(item.literal);
      else literals.set(type, [item.literal]);
    }
  }
  const as = operands.isLiteral(value) ? castsOnce(value) : () => value;
  const arrays = Array.from(literals, ([type, list]) => {
    const [found, wanted] = [operands.cast(as(type), type), operands.boundArray(list, type)];
    return type === 'text' && operands.valueType(value) === 'json'
      ? operands.anyText(found, wanted)
      : sql`${found} = ANY(${wanted})`;
  });
  return [
    ...arrays,
    ...rest.map((item) => operands.compare('$eq', as(operands.valueType(item)), item)),
  ];
}

/**
 * Returns a function that casts a literal for comparison with a type. Each cast is one fragment, so that it is bound
 * once.
 */
function castsOnce(literal: operands.Literal): (type: Operand['type']) => Operand {
  const casts = new Map<OperandTarget, Operand>();
  return (other) => {
    const type = operands.commonType(other, operands.literalType(literal));
    let found = casts.get(type);
    if (!found) {
      found = { type, sql: operands.cast(literal, type) };
      casts.set(type, found);
    }
    return found;
  };
}

/**
 * Compiles `$contains`. The result is NULL when the substring is a field with more than `MAX_SUBSTR` bytes. With
 * `case_insensitive`, each letter of a literal also matches its other case. JSON is searched by its decoded text
 * (`text-search.ts`).
 */
function contains(argument: ExpressionNode): Sql {
  const value = argument.member('input').value();
  const input = operands.cast(value, 'text');
  const json = !operands.isLiteral(value) && value.type === 'json' ? value : null;
  const place = argument.member('substr');
  const substr = place.value();
  const isFolded = argument.member('case_insensitive').choose(FLAGS);
  if (!operands.isLiteral(substr))
    return containsValue(input, json, operands.cast(substr, 'text'), isFolded);
  const text = operands.castLiteral(substr.literal, 'text') as string | null;
  if (text !== null && Buffer.byteLength(text) > MAX_SUBSTR)
    throw place.invalid(`must not be longer than ${MAX_SUBSTR} bytes`);
  const folds = isFolded ? foldLiteral(text, place) : null;
  return json && text ? saysLiteral(input, json, text, folds) : containsText(input, text, folds);
}

const saysLiteral = (
  input: Sql,
  { kind }: Operand,
  text: string,
  folds: FoldedLiteral | null,
): Sql =>
  saysNeedle(
    { text: input, kind: kind?.() },
    { text: sql`${folds?.needle ?? text}::text`, letters: Array.from(text), folds },
  );

function containsText(input: Sql, text: string | null, folds: FoldedLiteral | null): Sql {
  const needle = folds ? folds.needle : text;
  const haystack = folds ? foldedText(input, folds) : input;
  if (text !== null && Buffer.byteLength(text) > MAX_STRPOS)
    return sql`(${find(haystack, sql`${needle}::text`)})`;
  return folds
    ? sql`(strpos(${haystack}, ${needle}::text) > 0)`
    : sql`(${haystack} LIKE ${text === null ? null : likePattern(text)}::text)`;
}

function containsValue(input: Sql, json: Operand | null, text: Sql, isFolded: boolean): Sql {
  const needle = isFolded ? foldAscii(text) : text;
  const wanted = sql`wanted.value`;
  const found = json
    ? saysNeedle(
        { text: input, kind: json.kind?.() },
        { text: wanted, folds: isFolded ? NO_CAPITALS : null },
      )
    : find(isFolded ? foldAscii(input) : input, wanted);
  return sql`(SELECT ${found} FROM ${computedOnce(sql`SELECT ${needle} AS value`, 'wanted')}
      WHERE octet_length(wanted.value) <= ${MAX_SUBSTR}::int)`;
}

/**
 * Returns a pattern for `LIKE`. A trigram index serves `LIKE` but not `strpos` (docs/adr/0016-indexes-on-fields.md).
 */
const likePattern = (part: string) => `%${part.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;

/** Searches with a regular expression. After `***=` no character has a special meaning. */
const find = (haystack: Sql, needle: Sql) => sql`${byCodePoint(haystack)} ~ ('***=' || ${needle})`;
const FLAGS = new Map<unknown, boolean>([
  [true, true],
  [false, false],
  [null, false],
  [undefined, false],
]);

/**
 * Folds a literal to lower case. Under collation "C", the only one that every server has, `lower` folds only ASCII. The
 * other letters of a literal are known here, so their capitals are translated by name. A `substr` that is a field folds
 * only ASCII.
 */
function foldLiteral(text: string | null, place: ExpressionNode): FoldedLiteral {
  const letters = Array.from(text ?? '', lower);
  const needle = text === null ? null : letters.join('');
  const capitals = new Map(letters.map((letter) => [upper(letter), letter]));
  if (capitals.has('Σ')) capitals.set('ς', 'σ');
  for (const [capital, letter] of capitals) {
    if (capital === letter || capital < '\x80') capitals.delete(capital);
  }
  if (capitals.size > MAX_CAPITALS)
    throw place.invalid(
      `must not have more than ${MAX_CAPITALS} different letters beyond ASCII with capitals`,
    );
  return {
    needle,
    capitals: [...capitals.keys()].join(''),
    letters: [...capitals.values()].join(''),
  };
}

/** A literal in lower case, and the capitals of its letters beyond ASCII. */
interface FoldedLiteral {
  needle: string | null;
  capitals: string;
  letters: string;
}
const NO_CAPITALS = { capitals: '', letters: '' };

function foldedText(input: Sql, { capitals, letters }: FoldedLiteral): Sql {
  const ascii = foldAscii(input);
  return capitals === '' ? ascii : sql`translate(${ascii}, ${capitals}::text, ${letters}::text)`;
}
const foldAscii = (text: Sql) => sql`lower(${byCodePoint(text)})`;
/** Returns the other case of a letter if it is a single letter, otherwise the letter itself. */
const oneLetter = (letter: string, other: string) =>
  Array.from(other).length === 1 ? other : letter;
/** The two small forms of sigma are one. */
const lower = (letter: string) => (letter === 'ς' ? 'σ' : oneLetter(letter, letter.toLowerCase()));
const upper = (letter: string) => oneLetter(letter, letter.toUpperCase());

function convert(argument: ExpressionNode): Value {
  const input = argument.member('input').value();
  return argument.member('to').choose(CONVERSIONS)(input);
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

type JsonRecord = Record<string, unknown>;
const isObject = (json: unknown): json is JsonRecord =>
  typeof json === 'object' && json !== null && !Array.isArray(json);
