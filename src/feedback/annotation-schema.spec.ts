import { schemaProblem } from './annotation-schema.js';

describe('schemaProblem', () => {
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

  it('stops a pattern that does not end', () => {
    const answer = schemaProblem({ pattern: '^(a+)+$' }, `${'a'.repeat(60)}b`);
    expect(answer).toMatch(/^could not be held against the schema .* within \d+ ms$/);
  });
});
