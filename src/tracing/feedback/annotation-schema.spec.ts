import { annotationProblems } from './annotation-schema.js';

const problem = (schema: unknown, ...values: unknown[]) =>
  annotationProblems({
    schemas: [JSON.stringify(schema)],
    values: values.map((value) => ({ schema: 0, text: JSON.stringify(value) })),
  });
const schemaProblem = (schema: unknown, value: unknown) =>
  problem(schema, value)[0]?.message ?? null;

describe('problems', () => {
  const rating = { type: 'integer', minimum: 1, maximum: 5 };

  it('is null for a value that satisfies the schema', () => {
    expect(schemaProblem(rating, 3)).toBeNull();
    expect(
      schemaProblem({ $schema: 'http://json-schema.org/draft-07/schema#', ...rating }, 3),
    ).toBeNull();
    expect(schemaProblem({ type: 'string', format: 'of-ours', 'x-note': 1 }, 'a')).toBeNull();
    expect(schemaProblem(true, 'anything')).toBeNull();
    expect(schemaProblem({ $ref: '#/$defs/r', $defs: { r: rating } }, 5)).toBeNull();
  });

  it('says what is wrong with the value, without repeating it', () => {
    expect(schemaProblem(rating, 9)).toBe(
      'does not satisfy the schema of the annotation: value must be <= 5',
    );
    expect(schemaProblem({ $ref: '#/$defs/r', $defs: { r: rating } }, 'secret')).toBe(
      'does not satisfy the schema of the annotation: value must be integer',
    );
  });

  it.each([
    [{ type: 'nonsense' }],
    [{ pattern: '(' }],
    [{ $ref: 'http://other/schema' }],
    [{ $async: true, type: 'integer' }],
    [{ $async: true }],
    [5],
    [null],
  ])('says that %j is no schema', (schema) => {
    expect(schemaProblem(schema, 'a')).toMatch(/^cannot be judged/);
  });

  it('reads tuples as the draft that the schema names', () => {
    const tuple = { items: [{ type: 'string' }], additionalItems: false };
    const old = { $schema: 'http://json-schema.org/draft-07/schema#', ...tuple };
    expect(schemaProblem(old, ['a'])).toBeNull();
    expect(schemaProblem(old, ['a', 'b'])).toMatch(/must NOT have more than 1 items/);
    expect(schemaProblem({ prefixItems: [{ type: 'string' }], items: false }, ['a'])).toBeNull();
  });

  it('names the values that do not satisfy their schema', () => {
    const message = expect.stringContaining('<= 5');
    expect(problem(rating, 3, 5, 9, 1, 10)).toEqual([
      { at: 2, message },
      { at: 4, message },
    ]);
    expect(problem(rating)).toEqual([]);
  });

  it('survives values and schemas that lead too deep', () => {
    const list = { type: 'array', items: { $ref: '#' } };
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const all = { schemas: [JSON.stringify(list)], values: [{ schema: 0, text: deep }] };
    expect(annotationProblems(all)[0]!.message).toMatch(/^cannot be judged/);
    expect(schemaProblem({ $ref: '#' }, 1)).toMatch(/^cannot be judged/);
  });

  it('says no more of a long schema than it must', () => {
    expect(schemaProblem({ pattern: 'x'.repeat(5000) }, 'a')).toHaveLength(1000);
  });
});
