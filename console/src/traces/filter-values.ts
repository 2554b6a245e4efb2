import { SOURCES } from '../api/sources.ts';
import type { FieldKind } from './fields.ts';

/** A value that its field cannot have. The message is shown to the user. */
export class InvalidValue extends Error {}

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** A double keeps this many significant digits of any number. */
const EXACT_DIGITS = 15;

const UNITS_MS: Record<string, number> = {
  us: 0.001,
  µs: 0.001,
  ms: 1,
  s: 1000,
  sec: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const DURATION = /(\d+(?:\.\d+)?)(us|µs|ms|sec|s|min|m|h|d|w)/gy;

const STATUSES = ['success', 'error', 'descendant_error', 'running'];
export const CHOICES: Partial<Record<FieldKind, readonly string[]>> = {
  status: STATUSES,
  source: Object.keys(SOURCES).filter((name) => name !== 'all'),
};

/** The right side of a comparison in the query language. */
export interface Operand {
  $literal?: unknown;
  $convert?: object;
}

/** Parses `1.5s` or `1m30s` into milliseconds. With `bare`, a plain number is milliseconds. */
function milliseconds(text: string, { bare }: { bare: boolean }): number {
  if (bare && NUMBER.test(text)) return Number(text);
  let sum = 0;
  let end = 0;
  for (const [whole, amount, unit] of text.matchAll(DURATION)) {
    sum += Number(amount) * UNITS_MS[unit!]!;
    end += whole.length;
  }
  if (end === 0 || end < text.length)
    throw new InvalidValue(
      bare ? 'Write a duration like 500ms, 1.5s or 2m.' : 'Write an age like 30m, 2h or 7d.',
    );
  return Number(sum.toPrecision(EXACT_DIGITS));
}

function amount(text: string): number {
  const [, digits, factor = ''] = /^(\d[\d,]*(?:\.\d+)?)([kKmM]?)$/.exec(text) ?? [];
  if (digits === undefined) throw new InvalidValue('Write a number like 800, 10k or 1.5M.');
  const times = { '': 1, k: 1000, m: 1e6 }[factor.toLowerCase()]!;
  return Number((Number(digits.replaceAll(',', '')) * times).toPrecision(EXACT_DIGITS));
}

function money(text: string): Operand {
  const [, digits] = /^\$?(\d[\d,]*(?:\.\d+)?)$/.exec(text) ?? [];
  if (digits === undefined) throw new InvalidValue('Write an amount like 0.5 or $0.5.');
  return exact(digits.replaceAll(',', ''));
}

/** Parses a time. Without an offset it is in the viewer's time zone. */
function instant(text: string): string | null {
  if (text === 'null') return null;
  const isTime = /^\d{4}-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?)?$/.test(
    text,
  );
  const [day, time] = text.split(/[T ]/);
  const date = new Date(isTime ? (time === undefined ? `${day}T00:00` : `${day}T${time}`) : NaN);
  if (Number.isNaN(date.getTime()))
    throw new InvalidValue('Write a time like 2026-11-20 or 2026-11-20T10:00.');
  return date.toISOString();
}

function choice(text: string, choices: readonly string[]): string {
  if (choices.includes(text)) return text;
  throw new InvalidValue(`Write one of ${choices.join(', ')}.`);
}

/** Turns a value into an operand. A quoted value of a document field is always text. */
export function operand(
  kind: FieldKind,
  text: string,
  { isQuoted, now }: { isQuoted: boolean; now: number },
): Operand {
  const choices = CHOICES[kind];
  if (choices) return literal(choice(text, choices));
  switch (kind) {
    case 'thumbs':
      return literal({ up: '👍', down: '👎' }[choice(text, ['up', 'down'])]);
    case 'duration':
      return literal(milliseconds(text, { bare: true }));
    case 'age':
      return literal(new Date(now - milliseconds(text, { bare: false })).toISOString());
    case 'count':
      return literal(amount(text));
    case 'money':
      return money(text);
    case 'time':
      return literal(instant(text));
    case 'any':
      return isQuoted ? literal(text) : plain(text);
    default:
      return literal(text === 'null' && !isQuoted ? null : text);
  }
}

const literal = (value: unknown): Operand => ({ $literal: value });

function plain(text: string): Operand {
  if (text === 'true' || text === 'false') return literal(text === 'true');
  if (text === 'null') return literal(null);
  return NUMBER.test(text) ? exact(text) : literal(text);
}

/** Keeps all digits: a number of many digits is sent as text, since a JSON number would be rounded. */
const exact = (text: string): Operand =>
  text.replaceAll(/\D/g, '').length > EXACT_DIGITS
    ? { $convert: { input: literal(text), to: 'double' } }
    : literal(Number(text));
