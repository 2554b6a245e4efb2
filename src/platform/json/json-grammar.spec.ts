import * as fc from 'fast-check';
import { jsonTexts, stringBodies } from '../../../test/support/json-texts.js';
import { Cursor, hasOpaqueEscapes, SCALAR, skipSpace, skipString } from './json-grammar.js';

describe('the ends of tokens', () => {
  it('are where white space ends, which is none of other control characters', () => {
    expect(skipSpace(' \t\n\r1', 0)).toBe(4);
    for (const other of ['\u0000', '\f', '\v', '\u00a0', '\ufeff', ''])
      expect(skipSpace(` ${other}`, 0)).toBe(1);
  });

  it('are behind the quotation mark of a string, or behind the text when there is none', () => {
    fc.assert(
      fc.property(stringBodies, stringBodies, (body, other) => {
        expect(skipString(`"${body}"${other}"`, 0)).toBe(body.length + 2);
        expect(skipString(`"${body}`, 0)).toBe(body.length + 2);
        expect(skipString(`"${body}\\"`, 0)).toBe(body.length + 4);
      }),
    );
  });

  it('of a number or word are where JSON.parse takes them', () => {
    const scalar = fc.string({
      unit: fc.constantFrom(...Array.from('-+0019.eEtrue')),
      maxLength: 8,
    });
    fc.assert(
      fc.property(fc.oneof(scalar, fc.constantFrom('true', 'false', 'null', 'nul')), (text) => {
        SCALAR.lastIndex = 0;
        const isScalar = SCALAR.test(text) && SCALAR.lastIndex === text.length;
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(isScalar).toBe(isJson);
      }),
      { numRuns: 5000 },
    );
  });
});

it('a cursor stands on each item, then behind the whole', () => {
  fc.assert(
    fc.property(fc.array(jsonTexts, { maxLength: 5 }), jsonTexts, (items, after) => {
      for (const [open, name, close] of ['[]', '{k}'].map((mark) => [
        mark[0]!,
        mark === '[]' ? '' : ' "\\u006b" : ',
        mark.at(-1)!,
      ])) {
        const whole = ` ${open}${items.map((item) => name! + item).join(',')} ${close}`;
        const cursor = new Cursor(whole + after, 0);
        const found: [key: string | undefined, item: string][] = [];
        while (cursor.next()) found.push([cursor.key, cursor.text.slice(cursor.at, cursor.skip())]);
        expect(found).toEqual(items.map((item) => [name ? 'k' : undefined, item.trim()]));
        expect(cursor.at).toBe(whole.length);
      }
    }),
  );
});

/**
 * Decodes each escape, then searches for zeros and lone halves. A pattern with the flag u separates them from pairs.
 */
function reference(body: string): boolean {
  const units = body.replace(/\\u(....)|\\[^]/g, (_, hex?: string) =>
    hex === undefined ? ' ' : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return /\0|\p{Surrogate}/u.test(units);
}

describe('hasOpaqueEscapes', () => {
  it('finds exactly what a decoder finds', () => {
    fc.assert(
      fc.property(stringBodies, (body) => {
        expect(hasOpaqueEscapes(`{"${body}":1}`)).toBe(reference(body));
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    ['\\u0000', true],
    ['\\\\u0000', false],
    ['\\\\\\u0000', true],
    ['\\u0001', false],
    ['\\u000a\\u00000', true],
    ['\\ud83d\\ude00', false],
    ['\\uD83D\\uDE00', false],
    ['\\ud83d', true],
    ['\\uDE00', true],
    ['\\ude00\\ud83d', true],
    ['\\ud83d\\ud83d\\ude00', true],
    ['\\ud83d\\ude00\\ude00', true],
    ['\\ud83dx\\ude00', true],
    ['\\ud83d\\\\ude00', true],
    ['\\\\ud83d\\ude00', true],
    ['\\ud83d\u{1f600}', true],
    ['\\ud83d\\nde00', true],
    ['\\nd83d\\ude00', true],
    ['\\ud55c\\uD7FF\\ue000', false],
    ['plain', false],
  ])('"%s": %s', (body, expected) => {
    expect(hasOpaqueEscapes(`["${body}"]`)).toBe(expected);
    expect(hasOpaqueEscapes(`["\\"${body}",1]`)).toBe(expected);
  });
});
