import * as fc from 'fast-check';
import {
  DIGEST_LENGTH,
  applyEdits,
  joinedDigests,
  OutOfRange,
  type TableEdit,
} from './row-digests.js';

const digest = (n: number) => String(n).padStart(DIGEST_LENGTH, 'd');
const list = (rows: Buffer) =>
  Array.from({ length: rows.length / DIGEST_LENGTH }, (_, i) =>
    rows.toString('latin1', i * DIGEST_LENGTH, (i + 1) * DIGEST_LENGTH),
  );

describe('edited', () => {
  it.each([
    ['a few edits', 8, { maxLength: 30 }, 500],
    ['enough edits for several blocks', 2000, { minLength: 1500, maxLength: 1500 }, 5],
  ])('does what the same edits do to an array: %s', (_, max, length, numRuns) => {
    const edits = fc.array(
      fc.tuple(fc.constantFrom('append', 'pop', 'insert'), fc.nat({ max: max + 4 })),
      { ...length, size: 'max' },
    );
    fc.assert(
      fc.property(fc.nat({ max }), edits, (rows, drawn) => {
        const expected = Array.from({ length: rows }, (_, i) => digest(i));
        const table = joinedDigests(expected);
        const touched: string[] = [];
        const done = drawn.flatMap(([word, at], i): TableEdit[] => {
          const fresh = digest(1000 + i);
          if (word === 'append') {
            expected.push(fresh);
            touched.push(fresh);
            return [{ append: fresh }];
          }
          if (word === 'insert') {
            const index = Math.min(at, expected.length);
            expected.splice(index, 0, fresh);
            touched.push(fresh);
            return [{ insert: index, digest: fresh }];
          }
          if (expected.length === 0) return [];
          const index = at % expected.length;
          touched.push(...expected.splice(index, 1));
          return [{ pop: index }];
        });
        const answer = applyEdits(table, done);
        expect(list(answer.rows)).toEqual(expected);
        expect(answer.touched).toEqual(touched);
      }),
      { numRuns },
    );
  });

  it.each<[TableEdit[], number, number]>([
    [[{ pop: 1 }], 0, 1],
    [[{ insert: 2, digest: digest(1) }], 0, 1],
    [[{ pop: 0 }, { pop: 0 }], 1, 0],
    [[{ append: digest(1) }, { pop: 1 }, { pop: 1 }], 2, 1],
  ])('refuses %j outside the table', (edits, position, rows) => {
    expect(() => applyEdits(joinedDigests([digest(0)]), edits)).toThrow(
      expect.objectContaining({ position, rows }) as OutOfRange,
    );
  });
});
