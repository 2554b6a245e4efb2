import { firstProblem } from './annotation-schema.js';

const schemaProblem = (schema: unknown, value: unknown) =>
  firstProblem([{ schema, value }])?.message ?? null;

describe('firstProblem', () => {
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

  it('names the first value that does not satisfy its schema', () => {
    const values = [3, 5, 9, 10].map((value) => ({ schema: rating, value }));
    expect(firstProblem(values)).toMatchObject({
      at: 2,
      message: expect.stringContaining('<= 5'),
    });
    expect(firstProblem([])).toBeNull();
  });

  it('compiles a schema once', () => {
    const properties = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`p${i}`, rating]));
    const schema = { type: 'object', properties };
    const values = Array.from({ length: 1000 }, () => ({ schema, value: { p1: 1 } }));
    expect(firstProblem(values)).toBeNull();
  });

  it('has one time for all of them', () => {
    const slow = { schema: { pattern: '^(a+)+$' }, value: `${'a'.repeat(18)}b` };
    const fast = { schema: { not: slow.schema }, value: slow.value };
    expect(firstProblem([fast])).toBeNull();
    expect(firstProblem(Array.from({ length: 5000 }, () => fast))!.message).toMatch(
      /^could not be held/,
    );
  });

  it('stops a pattern that does not end', () => {
    const answer = schemaProblem({ pattern: '^(a+)+$' }, `${'a'.repeat(60)}b`);
    expect(answer).toMatch(
      /^could not be held against the schema .* within \d+ ms for the whole request$/,
    );
  });
});
