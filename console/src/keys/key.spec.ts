import { isScope, parseScopes, keyState } from './key.js';

it.each([
  [null, null, 'active'],
  ['2026-11-23T00:00:00Z', null, 'active'],
  ['2026-11-22T00:00:00Z', null, 'expired'],
  ['2026-11-22T00:00:00Z', '2026-11-20T00:00:00Z', 'revoked'],
] as const)(
  'a key that expires at %s and was revoked at %s is %s',
  (expires_at, revoked_at, state) =>
    expect(keyState({ expires_at, revoked_at }, Date.parse('2026-11-22T12:00:00Z'))).toBe(state),
);

it('reads scopes however they are written down', () => {
  expect(parseScopes(' acme/demo, acme/*\n\nacme/demo * ')).toEqual(['acme/demo', 'acme/*', '*']);
  expect(parseScopes('  ')).toEqual([]);
});

it.each(['*', 'acme/*', 'acme/demo'])('%s is a scope', (text) => expect(isScope(text)).toBe(true));
it.each(['acme', '*/demo', 'a/b/c', 'acme/'])('%s is none', (text) =>
  expect(isScope(text)).toBe(false),
);
