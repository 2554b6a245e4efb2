import * as fc from 'fast-check';

/**
 * Random JSON texts in every valid spelling: all forms of numbers, raw and escaped characters, white space everywhere,
 * repeated keys, and keys that are hard to sort. Half surrogates are always escaped, since UTF-8 has none.
 */

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 2 });
const spaced = (token: fc.Arbitrary<string>) =>
  fc.tuple(space, token, space).map((parts) => parts.join(''));

const digits = fc.string({
  unit: fc.constantFrom(...'0123456789'.split('')),
  minLength: 1,
  maxLength: 25,
});
const sign = fc.constantFrom('', '-');
const whole = digits.map((text) => text.replace(/^0+(?=.)/, ''));
const fraction = fc.oneof(
  fc.constantFrom('', '.0', '.50'),
  digits.map((text) => `.${text}`),
);
const power = fc.oneof(fc.integer({ max: 25, min: -25 }), fc.integer({ min: -400, max: 400 }));
const exponent = fc.oneof(
  fc.constant(''),
  fc
    .tuple(fc.constantFrom('e', 'E'), power, fc.boolean())
    .map(([e, n, plus]) => e + (plus && n >= 0 ? '+' : '') + n),
);
const number = fc.oneof(
  fc.tuple(sign, whole, fraction, exponent).map((parts) => parts.join('')),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom('-0', '-0.0', '0e0', '1e-4', '1e16', '1e22', '5e-324', '1e400', '-1e400'),
);

const escapedUnit = fc
  .tuple(fc.integer({ min: 0, max: 0xffff }), fc.boolean())
  .map(([unit, isUpper]) => {
    const hex = unit.toString(16).padStart(4, '0');
    return `\\u${isUpper ? hex.toUpperCase() : hex}`;
  });
const stringPart = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => text.replace(/["\\]|[^ -\u{10ffff}]/gu, ' ')),
  escapedUnit,
  fc.constantFrom('a', '\u007f', '\ud7ff', '\ue000', '\uff5e', '\u{1f600}', 'x'.repeat(40)),
  fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t', 'u0000', 'ud83d'),
  fc.constantFrom('\\u0000', '\\u000A', '\\u0022', '\\u005C', '\\u0061', '\\u007f'),
  fc.constantFrom('\\uD83D', '\\uDE00', '\\ud83d', '\\ude00', '\\ud83D\\uDe00', '\\uff5e'),
);
const body = fc.array(stringPart, { maxLength: 5 }).map((parts) => parts.join(''));
const key = fc.oneof(body, fc.constantFrom('', 'a', '\\u0061', '__proto__', 'constructor', '1'));

const { value } = fc.letrec<{ value: string }>((tie) => {
  const member = fc
    .tuple(spaced(key.map((text) => `"${text}"`)), tie('value'))
    .map((pair) => pair.join(':'));
  return {
    value: spaced(
      fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.oneof(
          fc.constantFrom('null', 'true', 'false'),
          number,
          body.map((text) => `"${text}"`),
        ),
        fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
        fc.array(member, { maxLength: 6 }).map((items) => `{${items.join(',')}}`),
        fc.constantFrom('[ ]', '{ }'),
      ),
    ),
  };
});

export const jsonTexts: fc.Arbitrary<string> = value;

/** The content of a JSON string, with many escapes. */
export const stringBodies: fc.Arbitrary<string> = body;
