import { castLiteral } from '../../../platform/query/operands.js';
import type { CallSelection } from '../read/calls.query.js';
import { conditions, fieldName, isInDocument, literal } from '../read/document-search.js';
import { TRACE_NAMES } from '../read/derived-field.js';
import { TEXTS } from './call-texts.query.js';
import { gramsOf } from './grams.js';

/** Most grams that are looked up for one text. More would hardly exclude further calls. */
const MAX_GRAMS = 16;
/** Most alternatives of a request, such as one word in each of several fields. */
const MAX_ALTERNATIVES = 16;

/** A call can match a request only if it has all grams of at least one alternative. */
export interface WantedTexts {
  alternatives: number[][];
  /** Calls outside of these times, in milliseconds, do not match. */
  since: number;
  until: number;
}

/** True for the columns of texts that the index holds. The name of a trace is one of these, or a part of one. */
const isName = (field: unknown) => [...TEXTS, ...TRACE_NAMES].includes(field as string);

/** Returns what a valid request looks for, or null if the index cannot help to find it. */
export function wantedTexts({ query, expand_columns }: CallSelection): WantedTexts | null {
  if (!query || expand_columns?.length) return null;
  const all = conditions(query);
  const alternatives = all.map(alternativesOf).reduce(bothOf, null);
  return (
    alternatives && {
      alternatives,
      since: Math.max(-Infinity, ...all.flatMap((one) => boundOf(one, '$gte', '$gt'))),
      until: Math.min(Infinity, ...all.flatMap((one) => boundOf(one, '$lte', '$lt'))) + 1,
    }
  );
}

type Alternatives = number[][] | null;

function bothOf(a: Alternatives, b: Alternatives): Alternatives {
  if (!a || !b) return a ?? b;
  if (a.length * b.length <= MAX_ALTERNATIVES)
    return a.flatMap((one) => b.map((other) => [...one, ...other]));
  return a.length < b.length ? a : b;
}

/** Joins alternatives. The same text in several fields is one, because the index knows no fields. */
function eitherOf(all: readonly Alternatives[]): Alternatives {
  const each = [
    ...new Map(all.flatMap((one) => one ?? []).map((one) => [one.join(), one])).values(),
  ];
  const isKnown = all.length > 0 && !all.includes(null);
  return isKnown && each.length <= MAX_ALTERNATIVES ? each : null;
}

function alternativesOf(condition: unknown): Alternatives {
  const { $and, $or, $contains, $eq, $in } = (condition ?? {}) as Record<string, unknown>;
  if (Array.isArray($and)) return $and.map(alternativesOf).reduce(bothOf, null);
  if (Array.isArray($or)) return eitherOf($or.map(alternativesOf));
  if ($contains) {
    const { input, substr } = $contains as Record<string, unknown>;
    const field = fieldName(input);
    return isInDocument(field) || isName(field) ? gramsIn(literal(substr)[0]) : null;
  }
  if (Array.isArray($eq)) return equalOf($eq.map(fieldName), $eq.flatMap(literal));
  if (Array.isArray($in) && Array.isArray($in[1]))
    return equalOf(
      [fieldName($in[0])],
      $in[1].map((one) => literal(one)[0]),
    );
  return null;
}

/** Returns the alternatives for a value inside a document that equals one of some values. */
const equalOf = (fields: readonly unknown[], values: readonly unknown[]): Alternatives =>
  fields.some((field) => isInDocument(field) && field.includes('.'))
    ? eitherOf(values.map(equalTo))
    : null;

/** A text with a backslash may be the JSON of an object, whose escapes the index does not hold. */
const equalTo = (value: unknown): Alternatives =>
  typeof value === 'string' && !value.includes('\\') ? gramsIn(value) : null;

function gramsIn(value: unknown): Alternatives {
  const grams = typeof value === 'string' ? gramsOf(value) : [];
  if (grams.length === 0) return null;
  const step = Math.max(1, grams.length / MAX_GRAMS);
  return [grams.filter((_, i) => i % step < 1)];
}

/** Returns the time with which a condition bounds the start of a call. */
function boundOf(condition: unknown, ...operators: string[]): number[] {
  return operators.flatMap((operator) => {
    const operands = (condition as Record<string, unknown> | null)?.[operator];
    if (!Array.isArray(operands) || fieldName(operands[0]) !== 'started_at') return [];
    const [value] = literal(operands[1]);
    if (typeof value !== 'string' && typeof value !== 'number') return [];
    const at = Date.parse(String(castLiteral(value, 'time')));
    return Number.isNaN(at) ? [] : [at];
  });
}
