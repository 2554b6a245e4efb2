import type { SignInProvider } from '../config/sign-in-settings.js';
import {
  areWithin,
  scopeCovers,
  emailKey,
  type Grant,
  grantsTo,
  isScope,
  mayAct,
  intersectGrants,
  type Person,
  personName,
} from './grants.js';

const PROVIDER: SignInProvider = {
  number: '0',
  issuer: 'https://login.example.com',
  name: 'Login',
  clientId: 'skein',
  clientSecret: undefined,
  scopes: 'openid',
  groupsClaim: 'groups',
  admins: ['Ada@Example.com', 'ops, all'],
  defaultGrant: { role: 'reader', scope: 'acme/*' },
  allowedDomains: null,
};
const PERSON: Person = {
  id: 'id',
  issuer: PROVIDER.issuer,
  subject: '7',
  email: 'bob@example.com',
  emailVerified: true,
  name: 'Bob',
  groups: ['ops'],
  isActive: true,
  memberships: [
    { role: 'writer', scope: 'acme/a' },
    { role: 'reader', scope: 'acme/b' },
  ],
};
const grants = (person: Partial<Person>, providers = [PROVIDER]) =>
  grantsTo({ ...PERSON, ...person }, providers);
const isAdmin = (person: Partial<Person>) => grants(person).some(({ role }) => role === 'admin');

it('a person has the roles that were given to them, and those of everybody', () => {
  expect(grants({})).toEqual([
    { role: 'writer', scopes: ['acme/a'] },
    { role: 'reader', scopes: ['acme/b', 'acme/*'] },
  ]);
});

it('a person who is not active, or whose provider is not set, has none', () => {
  expect(grants({ isActive: false })).toEqual([]);
  expect(grants({}, [])).toEqual([]);
  expect(grants({ issuer: 'https://other.example.com' })).toEqual([]);
});

it.each<[boolean, Partial<Person>]>([
  [true, { email: 'ada@example.com' }],
  [true, { groups: ['ops, all'] }],
  [false, {}],
  [false, { email: 'ada@example.com', emailVerified: false }],
  [false, { groups: ['ops', ' all', 'all', 'ada@example.com'] }],
  [false, { email: emailKey('ad\u0430@example.com') }], // a Cyrillic а
  [false, { email: null, groups: [] }],
])('settings make an admin: %s of %j', (is, person) => expect(isAdmin(person)).toBe(is));

it('only A to Z have a small letter in an e-mail address', () => {
  expect(emailKey('Ada@EXAMPLE.com')).toBe('ada@example.com');
  expect(emailKey('\u212Aim@example.com')).not.toBe('kim@example.com'); // the Kelvin sign
  expect(emailKey('ADM\u0130N@example.com')).toBe('adm\u0130n@example.com');
});

it('what cannot be chosen names a person', () => {
  expect(personName(PERSON)).toBe('bob@example.com');
  expect(personName({ ...PERSON, emailVerified: false })).toBe('login.example.com#7');
});

it.each<[Grant[], Grant, Grant[]]>([
  [
    [{ role: 'admin', scopes: ['*'] }],
    { role: 'writer', scopes: ['a/b'] },
    [{ role: 'writer', scopes: ['a/b'] }],
  ],
  [
    [{ role: 'reader', scopes: ['a/b'] }],
    { role: 'admin', scopes: ['a/*'] },
    [{ role: 'reader', scopes: ['a/b'] }],
  ],
  [
    [
      { role: 'writer', scopes: ['a/b'] },
      { role: 'reader', scopes: ['a/*', 'c/d'] },
    ],
    { role: 'admin', scopes: ['a/*', 'a/b'] },
    [
      { role: 'writer', scopes: ['a/b'] },
      { role: 'reader', scopes: ['a/*', 'a/b'] },
    ],
  ],
  [[{ role: 'reader', scopes: ['a/b'] }], { role: 'reader', scopes: ['a/c'] }, []],
  [
    [{ role: 'admin', scopes: ['a/b'] }],
    { role: 'trainer', scopes: ['*'] },
    [{ role: 'trainer', scopes: ['a/b'] }],
  ],
  [[{ role: 'writer', scopes: ['a/b'] }], { role: 'trainer', scopes: ['*'] }, []],
  [[], { role: 'reader', scopes: ['*'] }, []],
])('%j meets the key %j in %j', (own, key, expected) =>
  expect(intersectGrants(own, { ...key, scopes: [...key.scopes] })).toEqual(expected),
);

it.each<[boolean, Grant[], Grant[]]>([
  [true, [{ role: 'reader', scopes: ['a/b'] }], [{ role: 'writer', scopes: ['a/*'] }]],
  [false, [{ role: 'writer', scopes: ['a/b'] }], [{ role: 'reader', scopes: ['a/*'] }]],
  [false, [{ role: 'reader', scopes: ['a/*'] }], [{ role: 'admin', scopes: ['a/b'] }]],
  [true, [], []],
])('%s: %j is within %j', (is, inner, outer) => expect(areWithin(inner, outer)).toBe(is));

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
])('%s covers %s: %s', (scope, inner, is) => expect(scopeCovers(scope, inner)).toBe(is));

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
  expect(mayAct(own, asked)).toBe(may);
});

it('refuses what no role was declared for', () => {
  expect(mayAct('writer', undefined as never)).toBe(false);
});
