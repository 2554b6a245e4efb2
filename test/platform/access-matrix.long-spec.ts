import { randomBytes, randomUUID } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { ROLES, type Role } from '../../src/platform/roles.js';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { faultsOf, isDocumented } from '../support/answers.js';
import { basic, send, startApp, type TestApp } from '../support/app.js';
import {
  type Operation,
  type Scheme,
  SCHEMES,
  sendTo,
  type Sent,
} from '../support/operation-rows.js';
import { OPERATIONS, PUBLIC } from '../support/operations.js';
import { Browser, startProvider, type TestProvider } from '../support/provider.js';
import { freePort } from '../support/server.js';
import { announced } from '../support/media.js';
import { contents, plant, type Planted } from '../support/planted.js';

const OWN = 'acme/demo';
/**
 * Projects with the same names and ids as `OWN`: one of the same entity, one whose entity begins alike, and another.
 */
const NEIGHBOURS = ['acme/demo2', 'acme2/demo', 'else/demo'];

/** Scopes of keys that reach `OWN`, then scopes that do not. */
const SCOPES: Record<string, string[]> = {
  'the project': [OWN],
  'its entity': ['acme/*'],
  everything: ['*'],
  'the project and another': ['else/demo', OWN],
  'another project': ['acme/other'],
  'another entity': ['else/demo', 'else/*'],
  'projects that look alike': ['acme/demo2', 'acme/dem', 'acme/DEMO', 'acme/dem_', 'acme/.'],
  'entities that look alike': ['acme2/*', 'acm/*', 'ACME/*', 'acm_/*', 'acm./*'],
};

interface Key {
  name: string;
  secret: string;
  role: Role;
  scopes: string[];
}

let app: TestApp;
let provider: TestProvider;
const people: Person[] = [];
let own: Planted;
let planted: Planted[];
const keys: Key[] = [];
/** Secrets that are not accepted. */
const badKeys: Record<string, string> = {};

beforeAll(async () => {
  const publicUrl = `http://127.0.0.1:${await freePort()}`;
  const accounts = Object.fromEntries(
    NAMES.map((_, at) => [`p${at}`, { email: `p${at}@example.com`, email_verified: true }]),
  );
  provider = await startProvider({ publicUrl, accounts });
  app = await startApp({
    TRAINER_LEASE_SECONDS: '600',
    PUBLIC_URL: publicUrl,
    ...provider.settings(),
    JWT_ISSUERS: TOKEN_ISSUERS(provider.issuer),
  });
  // each request has an address of its own, since failed attempts of one address are limited
  app.app.set('trust proxy', true);
  for (const role of ROLES)
    for (const [reach, scopes] of Object.entries(SCOPES)) {
      const secret = await app.aKey(role, scopes);
      keys.push({ name: `${role} of ${reach}`, secret, role, scopes });
    }
  badKeys['an unknown key'] = newSecret();
  for (const [name, column] of [
    ['an expired key', 'expires_at'],
    ['a revoked key', 'revoked_at'],
  ] as const) {
    const secret = (badKeys[name] = await app.aKey('admin'));
    await app.query(`UPDATE api_keys SET ${column} = now() WHERE hint = $1`, [secret.slice(0, 8)]);
  }
  planted = [];
  for (const project of [OWN, ...NEIGHBOURS]) planted.push(await plant(app, project));
  own = planted[0]!;
  for (const name of NAMES) people.push(await signedIn(name));
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

/** Routes that have answered, with the faults of their answers against openapi.json. */
const answered = new Map<string, Set<string>>();

let addresses = 0;
function anAddress(): string {
  addresses++;
  return `10.0.${addresses >> 8}.${addresses & 255}`;
}

/** Sends a request to a route, and inflates the text of the answer. */
async function ask(route: string, sent: Sent, authorization?: string) {
  const response = await sendTo(app.url, route, sent, {
    'x-forwarded-for': anAddress(),
    ...(authorization !== undefined && { authorization }),
  });
  const isEndless = response.headers.get('content-type') === 'text/event-stream';
  const bytes = isEndless ? Buffer.of() : Buffer.from(await response.arrayBuffer());
  if (isEndless) await response.body!.cancel();
  const text = (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString();
  if (response.ok && isDocumented(route)) {
    const told = answered.get(route) ?? new Set();
    for (const fault of isEndless ? [] : faultsOf(route, response, text)) told.add(fault);
    answered.set(route, told);
  }
  // what was made is 201, what was deleted is 204, and a batch with status 207 has a status for each item
  const isDone = [201, 207].includes(response.status) || route.startsWith('DELETE ');
  const status = response.ok && isDone ? 200 : response.status;
  return { status, challenge: response.headers.get('www-authenticate'), text };
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

const authorizationOf = (scheme: Scheme, secret: string) =>
  scheme === 'basic' ? basic(secret) : `Bearer ${secret}`;

const covers = (scope: string, project: string) =>
  [project, project.replace(/\/.*/, '/*'), '*'].includes(scope);
const reaches = ({ scopes }: Key, project: string) =>
  scopes.some((scope) => covers(scope, project));
const mayActAs = (role: Role, least: Role) =>
  role === 'admin' || role === least || (least === 'reader' && role === 'writer');

const isAllowed = ({ role, isForAllScopes }: Operation, key: Key) =>
  mayActAs(key.role, role) && (isForAllScopes ? key.scopes.includes('*') : reaches(key, OWN));

/** The expected status for a key. */
function declared(operation: Operation, key: Key): number {
  if (!mayActAs(key.role, operation.role)) return 403;
  if (operation.isForAllScopes && !key.scopes.includes('*')) return 403;
  return reaches(key, OWN) ? 200 : operation.elsewhere;
}

/** The projects whose data an answer may contain. */
function shown(operation: Operation, key: Key): Planted[] {
  if (!mayActAs(key.role, operation.role)) return [];
  return planted.filter(
    ({ project }) => reaches(key, project) && (operation.isForAll || project === OWN),
  );
}

interface Case {
  route: string;
  scheme: Scheme;
  operation: Operation;
}

const CASES: Case[] = Object.entries(OPERATIONS).flatMap(([route, operation]) =>
  operation.schemes.map((scheme) => ({ route, scheme, operation })),
);

/** The status of an answer to a key, with a fault in words if the answer is wrong. */
async function cell({ route, scheme, operation }: Case, key: Key, sent: Sent): Promise<unknown> {
  const { status, text } = await ask(route, sent, authorizationOf(scheme, key.secret));
  const mayShow = shown(operation, key);
  const leaked = planted.find((one) => !mayShow.includes(one) && text.includes(one.marker));
  if (leaked) return `${status}, with what is in ${leaked.project}: ${text}`;
  const missing = mayShow.find(({ marker }) => operation.isShowing && !text.includes(marker));
  if (missing)
    return `${status}, without what is in ${missing.project}, where 'plant' of its row may store it: ${text}`;
  return status === declared(operation, key) ? status : `${status}: ${text}`;
}

/** Runs eight at a time. */
async function answers<T>(list: T[], run: (item: T) => Promise<[string, unknown]>) {
  const pairs: [string, unknown][] = [];
  const waiting = list.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const item of waiting) pairs.push(await run(item));
    }),
  );
  return Object.fromEntries(pairs);
}

it('every route is in PUBLIC or in the operations of its feature', () => {
  const { stack } = app.app.getHttpAdapter().getInstance().router;
  const routes: string[] = stack.flatMap(({ route }: any) =>
    route
      ? Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${route.path}`)
      : [],
  );
  const known = [...Object.keys(PUBLIC), ...Object.keys(OPERATIONS)];
  expect({
    'to be added to OPERATIONS': routes.filter((route) => !known.includes(route)),
    'to be taken out': known.filter((route) => !routes.includes(route)),
  }).toEqual({ 'to be added to OPERATIONS': [], 'to be taken out': [] });
});

it.each(Object.entries(PUBLIC))('%s answers %i to anybody', async (route, expected) => {
  const { status, text } = await ask(route, {});
  expect(route).toMatch(
    /^GET |^POST \/(console\/log(in|out)|auth\/:provider\/back-channel-logout)$|^DELETE \/mcp$|^PUT \/api\/public\/media\/:id\/content$/,
  );
  expect(status).toBe(expected);
  expect(planted.filter(({ marker }) => text.includes(marker))).toEqual([]);
});

describe.each(CASES)('$route by $scheme', (one) => {
  const { route, scheme, operation } = one;
  const { schemes, elsewhere } = operation;
  const expected = (list: Key[]) =>
    Object.fromEntries(list.map((key) => [key.name, declared(operation, key)]));

  it('refuses who may not, as declared, and changes nothing for them', async () => {
    const sent = await operation.build(own, app);
    const before = await contents(app);
    const refused = keys.filter((key) => !isAllowed(operation, key));
    expect(await answers(refused, async (key) => [key.name, await cell(one, key, sent)])).toEqual(
      expected(refused),
    );

    const inAddress = `?access_token=${app.key}`;
    const unknown = authorizationOf(scheme, newSecret());
    const headers: [name: string, header?: string, query?: string][] = [
      ['no header'],
      ['the key without a scheme', app.key],
      ['the key in the address', undefined, inAddress],
      ['the key in the address, and an unknown one in the header', unknown, inAddress],
      ...SCHEMES.filter((other) => !schemes.includes(other)).map((other): [string, string] => [
        'the other scheme',
        authorizationOf(other, app.key),
      ]),
      ...Object.entries(badKeys).map(([name, secret]): [string, string] => [
        name,
        authorizationOf(scheme, secret),
      ]),
    ];
    expect(
      await answers(headers, async ([name, header, query]) => {
        const { status, challenge, text } = await ask(route, { ...sent, query }, header);
        const leaked = planted.some(({ marker }) => text.includes(marker));
        const named = SCHEMES.filter((each) => challenge?.toLowerCase().includes(`${each} realm`));
        return [name, [status, named, leaked]];
      }),
    ).toEqual(Object.fromEntries(headers.map(([name]) => [name, [401, schemes, false]])));
    expect(await contents(app)).toEqual(before);
  });

  it('is done for who may', async () => {
    const allowed = keys.filter((key) => isAllowed(operation, key));
    expect(
      await answers(allowed, async (key) => [
        key.name,
        await cell(one, key, await operation.build(own, app)),
      ]),
    ).toEqual(expected(allowed));
  });

  if (scheme === schemes[0])
    it('answers a session of the console as its key, with the header of the console only', async () => {
      const unknown = authorizationOf(scheme, badKeys['an unknown key']!);
      for (const key of keys.filter(({ name }) => IN_SESSIONS.includes(name))) {
        const cookie = await sessionOf(key.secret);
        const { headers, ...sent } = await operation.build(own, app);
        const console = { ...headers, cookie, 'x-skein-console': '1' };
        const answers = [
          await ask(route, { ...sent, headers: { ...headers, cookie } }),
          await ask(route, { ...sent, headers: console }, unknown),
          await ask(route, { ...sent, headers: console }),
        ];
        expect([key.name, ...answers.map(({ status }) => status)]).toEqual([
          key.name,
          401,
          401,
          declared(operation, key),
        ]);
      }
    });

  it('answers a person by a session, a key of theirs and a token, as far as their roles in each project reach', async () => {
    for (const person of people) {
      const answered: unknown[] = [];
      for (const by of person.by) {
        if (by.scheme && by.scheme !== scheme) continue;
        const { headers, ...sent } = await operation.build(own, app);
        const { status, text } = await ask(route, {
          ...sent,
          headers: { ...headers, ...by.headers },
        });
        const leaked = planted.filter(
          ({ project, marker }) =>
            text.includes(marker) && !person.grants.some(([, scope]) => covers(scope, project)),
        );
        answered.push([by.name, status, leaked.map(({ project }) => project)]);
      }
      const may = person.grants.filter(([role]) => mayActAs(role, operation.role));
      const isReached = may.some(([, scope]) =>
        operation.isForAllScopes ? scope === '*' : covers(scope, OWN),
      );
      const status =
        may.length === 0 || (operation.isForAllScopes && !isReached)
          ? 403
          : isReached
            ? 200
            : elsewhere;
      expect([person.name, ...answered]).toEqual([
        person.name,
        ...person.by
          .filter((by) => !by.scheme || by.scheme === scheme)
          .map(({ name }) => [name, status, []]),
      ]);
    }
  });

  if (elsewhere === 404)
    it('says the same of an id elsewhere as of one that is nowhere', async () => {
      const sent = await operation.build(own, app);
      const nowhere = JSON.parse(JSON.stringify(sent).replaceAll(UUID, () => randomUUID()));
      const { secret } = keys.find(
        (key) => mayActAs(key.role, operation.role) && !reaches(key, OWN),
      )!;
      const [one, other] = await Promise.all(
        [sent, nowhere].map((request) => ask(route, request, authorizationOf(scheme, secret))),
      );
      expect(one!.status).toBe(404);
      expect(one!.text.replaceAll(UUID, '')).toBe(other!.text.replaceAll(UUID, ''));
    });
});

it('a signed address stores and shows a medium without a key', async () => {
  const bytes = randomBytes(20);
  const of = (address: string) => {
    const { pathname, search } = new URL(address);
    return { params: { id: pathname.split('/').at(-2)! }, query: search };
  };
  const headers = { authorization: basic(app.key, OWN) };
  const announce = await send(`${app.url}/api/public/media`, announced(bytes), headers);
  const uploaded = await ask('PUT /api/public/media/:id/content', {
    ...of(announce.body.uploadUrl),
    body: bytes,
  });
  expect(uploaded.status).toBe(200);
  const shown = await ask(
    'GET /api/public/media/:id',
    { params: { id: announce.body.mediaId } },
    headers.authorization,
  );
  const { url } = JSON.parse(shown.text);
  expect((await ask('GET /api/public/media/:id/content', of(url))).status).toBe(200);
});

it('every route answers what openapi.json says', () => {
  const routes = [...Object.keys(PUBLIC), ...Object.keys(OPERATIONS)].filter(isDocumented);
  expect(routes.filter((route) => !answered.has(route))).toEqual([]);
  const faults = [...answered].filter(([, told]) => told.size > 0);
  expect(Object.fromEntries(faults.map(([route, told]) => [route, [...told]]))).toEqual({});
});

type Grants = [role: Role, scope: string][];

interface Person {
  name: string;
  grants: Grants;
  by: { name: string; scheme?: Scheme; headers: Record<string, string> }[];
}

const PEOPLE: Record<string, Grants> = {
  'admin of everything': [['admin', '*']],
  'reader of the project, admin of another': [
    ['reader', OWN],
    ['admin', 'else/demo'],
  ],
  'writer of the entity': [['writer', 'acme/*']],
  'admin of a project that looks alike': [['admin', 'acme/demo2']],
};
const NAMES = Object.keys(PEOPLE);

/** JWT_ISSUERS: workload tokens with the claim `who` get the grants of that person. */
const TOKEN_ISSUERS = (issuer: string) =>
  JSON.stringify(
    Object.entries(PEOPLE).flatMap(([who, grants]) =>
      grants.map(([role, scope]) => ({
        issuer,
        audience: 'matrix',
        jwks_uri: `${issuer}/jwks`,
        claims: { who },
        role,
        scopes: [scope],
      })),
    ),
  );

/** Signs a person in, who then makes a key with their highest role. */
async function signedIn(name: string): Promise<Person> {
  const grants = PEOPLE[name]!;
  const subject = `p${NAMES.indexOf(name)}`;
  for (const [role, scope] of grants)
    await app.post('/members/set', { scope, role, email: `${subject}@example.com` });
  const browser = new Browser(app.url);
  await browser.signIn(subject);
  const session = { cookie: browser.sessionCookie!, 'x-skein-console': '1' };
  const highest = grants.at(-1)!;
  const body = { role: highest[0], scopes: [highest[1]] };
  const made = await send(`${app.url}/keys/create`, body, session);
  const token = await provider.sign({
    sub: subject,
    aud: 'matrix',
    who: name,
    exp: Math.floor(Date.now() / 1000) + 3600,
  });
  const key = {
    name: 'key',
    scheme: 'basic' as const,
    headers: { authorization: basic(made.body.secret) },
  };
  return {
    name,
    grants,
    by: [
      { name: 'session', headers: session },
      // a key has one role, so it equals the person only when the person has one role too
      ...(grants.length === 1 ? [key] : []),
      { name: 'token', scheme: 'bearer', headers: { authorization: `Bearer ${token}` } },
    ],
  };
}

const IN_SESSIONS = ['admin of everything', 'reader of the project', 'writer of another project'];

async function sessionOf(secret: string): Promise<string> {
  const response = await fetch(`${app.url}/console/login`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'x-skein-console': '1' },
  });
  return response.headers.get('set-cookie')!.split(';')[0]!;
}
