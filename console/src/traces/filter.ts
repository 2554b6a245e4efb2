import {
  escaped,
  type FieldKind,
  fieldNamed,
  type FilterField,
  nearestName,
  shortFields,
} from './fields.ts';
import { InvalidValue, operand, type Operand } from './filter-values.ts';

/** A filter that cannot be parsed, with the range of the fault in the text. */
export class InvalidFilter extends Error {
  constructor(
    message: string,
    readonly from: number,
    readonly to: number,
  ) {
    super(message);
  }
}

type Expression = Record<string, unknown>;

/**
 * A condition and its opposite; exactly one of them is true for each call. `$not` alone is not enough: for a call
 * without the value, neither the condition nor its `$not` is true.
 */
interface Condition {
  is: Expression;
  isNot: Expression;
}

/** The service refuses deeper queries. */
const MOST_DEPTH = 12;

/**
 * Parses a filter into an expression of the query language (grammar: docs/filters.md). A text that begins with `{` is
 * the expression itself in JSON. Undefined for an empty text. An `age` counts back from `now`.
 *
 * @throws InvalidFilter
 */
export function parseExpression(text: string, now = Date.now()): Expression | undefined {
  if (text.trim() === '') return undefined;
  return text.trimStart().startsWith('{')
    ? parseJsonFilter(text)
    : new Parser(text, now).whole().is;
}

function parseJsonFilter(text: string): Expression {
  try {
    const { $expr, ...rest } = JSON.parse(text) as Expression;
    return ($expr ?? rest) as Expression;
  } catch {
    throw new InvalidFilter(
      'A filter that begins with { must be one expression of the query language, in JSON.',
      0,
      text.length,
    );
  }
}

/** Words before a parenthesis that search other calls of the trace, and their operators. */
const RELATIONS: Record<string, string> = {
  any: '$any',
  parent: '$parent',
  under: '$ancestor',
  first: '$first_llm',
};
const RELATION = /(any|parent|under|first|children)(?=\()/y;
const CHILDREN = /children(?=\s*[!=<>])/y;
const FIELD = /(?:[^\s=!<>~"()[]|\[[^\]]*\]|!(?![=~]))+/y;
const OPERATOR = /\s*(!=|>=|<=|!~|==|=|>|<|~)\s*/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"/y;
const SPACE = /\s*/y;

/** Parses `OR` of `AND`s of terms, from left to right. */
class Parser {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly now: number,
  ) {}

  whole(): Condition {
    const found = this.either(0);
    if (this.at < this.text.length) throw this.bad('This ) has no (.', this.at, this.at + 1);
    return found;
  }

  private either(depth: number): Condition {
    const sides = [this.all(depth)];
    while (this.word('OR')) sides.push(this.all(depth));
    return anyOf(sides);
  }

  private all(depth: number): Condition {
    const terms = [this.one(depth)];
    for (;;) {
      const isJoined = this.word('AND');
      if (!isJoined && (this.isAtEnd() || this.sees('OR'))) break;
      terms.push(this.one(depth));
    }
    return allOf(terms);
  }

  private one(depth: number): Condition {
    const from = this.skipSpace();
    if (depth > MOST_DEPTH)
      throw this.bad(`Nest at most ${MOST_DEPTH} NOTs and parentheses.`, from, from + 1);
    if (this.word('NOT')) return opposite(this.one(depth + 1));
    for (const word of ['OR', 'AND'])
      if (this.sees(word))
        throw this.bad(
          `${word} must stand between two conditions. Quote it to search for the word.`,
          from,
          from + word.length,
        );
    if (this.text[from] === '(') return this.group(depth);
    if (this.isAtEnd())
      throw from === 0 || this.text[from] === ')'
        ? this.bad('A condition is missing here.', from, from + 1)
        : this.bad('A condition is missing at the end.', from - 1, from);
    return this.term(depth);
  }

  private group(depth: number): Condition {
    const from = this.at;
    this.at++;
    const found = this.either(depth + 1);
    if (this.text[this.skipSpace()] !== ')')
      throw this.bad('This ( is not closed.', from, from + 1);
    this.at++;
    return found;
  }

  private term(depth: number): Condition {
    const from = this.at;
    if (this.text[from] === '"') return isSaid(this.quoted());
    const relation = this.match(RELATION)?.[0];
    if (relation === 'children') return this.children(from, this.group(depth));
    if (relation !== undefined) return related(RELATIONS[relation]!, this.group(depth));
    if (this.match(CHILDREN)) return this.children(from);
    const name = this.match(FIELD)?.[0];
    const operator = name === undefined ? undefined : this.match(OPERATOR);
    if (!operator) {
      this.at = from;
      return this.searched(from);
    }
    const field = fieldNamed(name!) ?? this.noField(name!, from);
    return this.compared(field, operator[1]!.replace('==', '='), { name: name!, from });
  }

  /** Compares the number of calls directly below, of all or of those that fulfil `inner`. */
  private children(from: number, inner?: Condition): Condition {
    const operator = this.match(OPERATOR)?.[1] ?? '~';
    if (operator.endsWith('~')) throw this.bad('Write children>5.', from, this.at);
    const count = { $child_count: inner?.is ?? {} };
    const field: FilterField = { kind: 'count', paths: [], count };
    return this.compared(field, operator.replace('==', '='), { name: 'children', from });
  }

  /** Searches the call for a word without a field. */
  private searched(from: number): Condition {
    const word = this.bare();
    const [, name, value] = /^(\w+):(.+)$/.exec(word) ?? [];
    if (name !== undefined && Object.hasOwn(shortFields(), name))
      throw this.bad(`Write ${name}=${value}, or quote it to search for the word.`, from, this.at);
    if (/^([=<>~]|!$|!~|$)/.test(word))
      throw this.bad('The name of a field is missing before this.', from, from + 1);
    return isSaid(word);
  }

  private noField(name: string, from: number): never {
    const to = from + name.length;
    const like = nearestName(name);
    throw this.bad(
      `There is no field ${name}.${like ? ` Did you mean ${like}?` : ' Fields inside documents begin with inputs., output., attributes. or summary.'}`,
      from,
      to,
    );
  }

  private compared(
    field: FilterField,
    operator: string,
    { name, from }: { name: string; from: number },
  ): Condition {
    const valueAt = this.at;
    const isQuoted = this.text[valueAt] === '"';
    const text = isQuoted ? this.quoted() : this.bare();
    if (text === '' && !isQuoted)
      throw this.bad(`${name}${operator} needs a value.`, from, valueAt);
    const wrong = wrongOperator(field.kind, operator, name);
    if (wrong) throw this.bad(wrong, from, this.at);
    try {
      const found = this.condition(field, operator, { text, isQuoted });
      return operator.startsWith('!') ? opposite(found) : found;
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      throw this.bad(error.message, valueAt, this.at);
    }
  }

  /** Builds the condition of an operator without its `!`. */
  private condition(
    { kind, paths, count }: FilterField,
    operator: string,
    { text, isQuoted }: { text: string; isQuoted: boolean },
  ): Condition {
    if (kind === 'whole') return exists(paths[0]!.replace('*', () => escaped(text)));
    if (operator.endsWith('~')) return anyOf(paths.map((path) => contains(path, text)));
    const value = operand(kind, text, { isQuoted, now: this.now });
    if (kind === 'thumbs') return contains(paths[0]!, value.$literal as string);
    const compared = COMPARED[kind === 'age' ? OPPOSITE[operator]! : operator]!;
    if (count) return notOf({ [compared]: [count, value] });
    return anyOf(paths.map((path) => compare(compared, path, value)));
  }

  private quoted(): string {
    const from = this.at;
    const found = this.match(QUOTED);
    if (!found) throw this.bad('This quotation mark is not closed.', from, this.text.length);
    return found[1]!.replaceAll(/\\(.)/g, '$1');
  }

  /** Reads up to a space or to an unmatched closing parenthesis. */
  private bare(): string {
    const from = this.at;
    let open = 0;
    for (; this.at < this.text.length; this.at++) {
      const character = this.text[this.at]!;
      if (/\s/.test(character)) break;
      if (character === '(') open++;
      if (character === ')' && open-- === 0) break;
    }
    return this.text.slice(from, this.at);
  }

  private isAtEnd(): boolean {
    const at = this.skipSpace();
    return at >= this.text.length || this.text[at] === ')';
  }

  /** True when the whole word is next, not just the beginning of a longer one. */
  private sees(word: string): boolean {
    const at = this.skipSpace();
    return this.text.startsWith(word, at) && /^[\s()"]?$/.test(this.text[at + word.length] ?? '');
  }

  private word(word: string): boolean {
    if (!this.sees(word)) return false;
    this.at += word.length;
    return true;
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at += found[0].length;
    return found;
  }

  private skipSpace(): number {
    this.match(SPACE);
    return this.at;
  }

  private bad(message: string, from: number, to: number): InvalidFilter {
    return new InvalidFilter(message, from, Math.max(to, from + 1));
  }
}

const either = (sides: Expression[]) => (sides.length === 1 ? sides[0]! : { $or: sides });
const both = (sides: Expression[]) => (sides.length === 1 ? sides[0]! : { $and: sides });
const anyOf = (all: Condition[]): Condition => ({
  is: either(all.map(({ is }) => is)),
  isNot: both(all.map(({ isNot }) => isNot)),
});
const allOf = (all: Condition[]): Condition => ({
  is: both(all.map(({ is }) => is)),
  isNot: either(all.map(({ isNot }) => isNot)),
});
const opposite = ({ is, isNot }: Condition): Condition => ({ is: isNot, isNot: is });

/** A condition that is true or false for each call, never unknown. */
const notOf = (is: Expression): Condition => ({ is, isNot: { $not: [is] } });
const related = (operator: string, inner: Condition) => notOf({ [operator]: inner.is });

const getField = (path: string) => ({ $getField: path });

/** Fields that every call has. */
const ALWAYS = /^(op_name|id|trace_id|started_at|source)$|^summary\.[a-z]+\.(status|trace_name)$/;

function orMissing(path: string, expression: Expression): Expression {
  return ALWAYS.test(path)
    ? expression
    : { $or: [expression, { $eq: [getField(path), { $literal: null }] }] };
}

function contains(path: string, substr: string): Condition {
  const is = {
    $contains: { input: getField(path), substr: { $literal: substr }, case_insensitive: true },
  };
  return { is, isNot: orMissing(path, { $not: [is] }) };
}

/** The name of the call, or what it says, contains a text. */
function isSaid(text: string): Condition {
  const { name, text: texts } = shortFields();
  return anyOf([...name!.paths, ...texts!.paths].map((path) => contains(path, text)));
}

const SOUGHT =
  /(?<!"\$not":\[\{)"\$contains":\{"input":\{"\$getField":"(?:inputs|output|attributes|exception)[^"]*"\},"substr":\{"\$literal":("(?:[^"\\]|\\.)+")/g;
/** The service searches so many texts at once. */
const MOST_SOUGHT = 16;

/** The texts that a query searches in the documents of calls, in their order. */
export const soughtTexts = (query: object): string[] =>
  [
    ...new Set(
      [...JSON.stringify(query).matchAll(SOUGHT)].map(([, text]) => JSON.parse(text!) as string),
    ),
  ].slice(0, MOST_SOUGHT);

const COMPARED: Record<string, string> = {
  '=': '$eq',
  '!=': '$eq',
  '>': '$gt',
  '>=': '$gte',
  '<': '$lt',
  '<=': '$lte',
};
/** A greater age means an earlier start, so the operators are swapped. */
const OPPOSITE: Record<string, string> = { '>': '<', '>=': '<=', '<': '>', '<=': '>=' };

function wrongOperator(kind: FieldKind, operator: string, name: string): string | undefined {
  const isEquality = operator === '=' || operator === '!=';
  if (kind === 'whole' && !isEquality) return `Write ${name}= or ${name}!= and the whole name.`;
  if (kind === 'thumbs' && !isEquality) return 'Write thumbs=up or thumbs=down.';
  if (kind === 'age' && !(operator in OPPOSITE)) return 'Write age<2h or age>7d.';
  if (kind === 'words' && !operator.endsWith('~')) return `Write ${name}~word or ${name}!~word.`;
  return undefined;
}

function compare(operator: string, path: string, value: Operand): Condition {
  const sides = [getField(path), value];
  const is = { [operator]: sides };
  const opposed = operator === '$eq' ? { $ne: sides } : { $not: [is] };
  return { is, isNot: value.$literal === null ? opposed : orMissing(path, opposed) };
}

function exists(path: string): Condition {
  return notOf({ $convert: { input: getField(path), to: 'exists' } });
}

/** Values that need no quotes: they are parsed back as the same value. */
const PLAIN = /^[^\s"=!<>~()[\]{}]+$/;

/** Writes a term as a user would type it. */
export const term = (field: string, operator: string, value: string): string =>
  `${field}${operator}${PLAIN.test(value) && value !== 'null' ? value : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`}`;
