import type { Role } from './api-key.entity.js';
import { Caller, covers, isScope } from './caller.js';

const callerOf = (role: Role) =>
  new Caller(
    { id: 'id', userName: 'ada', role, scopes: ['*'], expiresAt: null },
    { challenge: 'Basic', isActive: async () => true },
  );

it.each<[string, string, boolean]>([
  ['*', 'a/b', true],
  ['*', '*', true],
  ['a/*', 'a/b', true],
  ['a/*', 'a/*', true],
  ['a/*', '*', false],
  ['a/*', 'ab/c', false],
  ['a/b', 'a/b', true],
  ['a/b', 'a/bc', false],
  ['a/b', 'a/*', false],
])('%s covers %s: %s', (scope, inner, is) => expect(covers(scope, inner)).toBe(is));

it.each(['*', 'a/*', 'a/b', 'A.b-c_1/d'])('%s is a scope', (text) =>
  expect(isScope(text)).toBe(true),
);
it.each(['', 'a', '*/b', '*/*', 'a/b/c', 'a/ b', 5, null])('%j is no scope', (text) =>
  expect(isScope(text)).toBe(false),
);

it.each([
  ['reader', 'reader', true],
  ['reader', 'writer', false],
  ['writer', 'reader', true],
  ['writer', 'admin', false],
  ['writer', 'trainer', false],
  ['admin', 'writer', true],
  ['admin', 'trainer', true],
  ['trainer', 'trainer', true],
  ['trainer', 'reader', false],
] as const)('a %s may act as %s: %s', (own, asked, may) => {
  expect(callerOf(own).mayActAs(asked)).toBe(may);
});

it('refuses what no role was declared for', () => {
  expect(callerOf('writer').mayActAs(undefined as never)).toBe(false);
});
