import { wire } from '../api/wire.ts';

/** A text that is no filter: what is wrong, and where. */
export class BadFilter extends Error {}

/** Short names of what people ask for, and the fields behind them. */
export const shortNames = (): Record<string, string> => ({
  op: 'op_name',
  name: `summary.${wire.summary}.trace_name`,
  status: `summary.${wire.summary}.status`,
  latency: `summary.${wire.summary}.latency_ms`,
  user: wire.userId,
  thread: 'thread_id',
  trace: 'trace_id',
  run: wire.runId,
});

/** Fields whose values are text, whatever they look like. */
const TEXTS = new Set([
  'op_name',
  'thread_id',
  'trace_id',
  'id',
  'parent_id',
  'turn_id',
  'display_name',
  'exception',
]);

const TERM = /^([^\s=!<>~"]+)(!=|>=|<=|!~|=|>|<|~)(?:"((?:[^"\\]|\\.)*)"|(\S*))/;
const WORD = /^(?:"((?:[^"\\]|\\.)*)"|(\S+))/;

type Expression = Record<string, unknown>;

/**
 * The expression that a filter stands for: `status=error latency>2000 inputs.question~refund model=gpt-4o`, every term of
 * which must hold. A word alone is looked for in the name. A text that begins with `{` is the expression itself, as the
 * query language spells it. Undefined for an empty text.
 * @throws BadFilter
 */
export function parseExpression(text: string): Expression | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  if (trimmed.startsWith('{')) return written(trimmed);
  const terms: Expression[] = [];
  for (let rest = trimmed; rest !== '';) {
    const found = TERM.exec(rest) ?? WORD.exec(rest);
    if (!found) throw new BadFilter(`a quotation mark is not closed: ${rest.slice(0, 40)}`);
    terms.push(found.length === 5 ? parseTerm(found) : nameHas(unquoted(found[1]) ?? found[2]!));
    rest = rest.slice(found[0].length).trimStart();
  }
  return terms.length === 1 ? terms[0] : { $and: terms };
}

function written(text: string): Expression {
  try {
    const { $expr, ...rest } = JSON.parse(text) as Expression;
    return ($expr ?? rest) as Expression;
  } catch {
    throw new BadFilter('what begins with { must be a whole expression in JSON');
  }
}

const unquoted = (text: string | undefined) => text?.replaceAll(/\\(.)/g, '$1');

const getField = (path: string) => ({ $getField: path });
const contains = (path: string, substr: string) => ({
  $contains: { input: getField(path), substr: { $literal: substr }, case_insensitive: true },
});
const not = (expression: Expression) => ({ $not: [expression] });
const nameHas = (word: string) => contains(shortNames()['name']!, word);

const COMPARED: Record<string, string> = {
  '=': '$eq',
  '!=': '$ne',
  '>': '$gt',
  '>=': '$gte',
  '<': '$lt',
  '<=': '$lte',
};

function parseTerm([, field, operator, quoted, bare]: RegExpExecArray): Expression {
  const value = unquoted(quoted) ?? bare!;
  if (value === '' && quoted === undefined)
    throw new BadFilter(`${field}${operator} needs a value`);
  if (field === 'model') return ofModel(operator!, value);
  const path = shortNames()[field!] ?? field!;
  if (operator === '~') return contains(path, value);
  if (operator === '!~') return not(contains(path, value));
  const literal =
    quoted !== undefined || TEXTS.has(path) || path === wire.userId ? value : parseValue(value);
  return { [COMPARED[operator!]!]: [getField(path), { $literal: literal }] };
}

const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

function parseValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  return NUMBER.test(text) ? Number(text) : text;
}

/** Models are the names of members of `summary.usage`. */
function ofModel(operator: string, model: string): Expression {
  if (operator !== '=' && operator !== '!=') throw new BadFilter('model takes = and != only');
  const path = `summary.usage.${model.replaceAll(/[.\\]/g, '\\$&')}`;
  const isUsed = { $convert: { input: getField(path), to: 'exists' } };
  return operator === '=' ? isUsed : not(isUsed);
}

/** A term as it would be typed. */
export const term = (field: string, operator: string, value: string): string =>
  `${field}${operator}${/^[^\s"=!<>~]+$/.test(value) ? value : `"${value.replaceAll(/["\\]/g, '\\$&')}"`}`;
