import { allOf, identifier, join, Parameter, sql } from './sql.js';

it('numbers placeholders once, in reading order, however deep the fragments nest', () => {
  const inner = sql`a = ${1} OR b = ${2}`;
  expect(sql`SELECT ${identifier('x"y')} WHERE (${inner}) AND c = ${3}`.toQuery()).toEqual({
    text: 'SELECT "x""y" WHERE (a = $1 OR b = $2) AND c = $3',
    values: [1, 2, 3],
  });
});

it('binds the values of a fragment once for each place it stands in', () => {
  const twice = sql`x = ${'v'}`;
  expect(sql`${twice} OR ${twice}`.toQuery()).toEqual({
    text: 'x = $1 OR x = $2',
    values: ['v', 'v'],
  });
});

it('binds a parameter once, wherever it stands', () => {
  const once = new Parameter('v');
  expect(sql`a = ${once} OR b = ${1} OR (${sql`c = ${once}`})`.toQuery()).toEqual({
    text: 'a = $1 OR b = $2 OR (c = $1)',
    values: ['v', 1],
  });
});

it('joins nothing to nothing', () => expect(join([]).toQuery()).toEqual({ text: '', values: [] }));

it('skips absent conditions, and without any is true', () => {
  expect(allOf(sql`a`, undefined, null, false, '', sql`b`).toQuery().text).toBe('a AND b');
  expect(allOf(undefined).toQuery().text).toBe('TRUE');
});
