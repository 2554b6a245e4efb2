import { splitStatements } from './single-statement-data-source.js';

describe('statements of a text', () => {
  it.each([
    ['SELECT 1', ['SELECT 1']],
    ['SELECT $1;', ['SELECT $1;']],
    ['A; B;\n', ['A;', ' B;']],
    ['A; B', ['A;', ' B']],
    [`-- one; it's\nA - 1 ';''' ; B;`, [`-- one; it's\nA - 1 ';''' ;`, ' B;']],
    ['DO $$ A; B; $$; C;', ['DO $$ A; B; $$;', ' C;']],
    ['A; DROP INDEX a, b; B', ['A;', ' DROP INDEX a', ' DROP INDEX b', ' B']],
  ])('are those of %j', (text, statements) => {
    expect(splitStatements(text)).toEqual(statements);
  });
});
