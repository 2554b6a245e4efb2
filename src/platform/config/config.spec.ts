import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadConfig } from './config.js';
import { InvalidSetting } from './setting.js';

it('starts without any setting', () => {
  expect(loadConfig({})).toMatchObject({
    port: 3000,
    host: '127.0.0.1',
    databaseUrl: undefined,
    dataDir: './data',
    wireDialect: 'svc',
    maxBodyBytes: 32 * 1024 * 1024,
    logLevel: 'info',
  });
});

it('takes what it is given, and an empty variable for an absent one', () => {
  const env = {
    PORT: '0',
    HOST: '0.0.0.0',
    WIRE_DIALECT: 'weave',
    LOG_FORMAT: 'pretty',
    DATA_DIR: '',
    TRUST_PROXY: '10.0.0.0/8, ::1',
    RETENTION_DEFAULT: 'calls=90, payloads=30',
  };
  expect(loadConfig(env)).toMatchObject({
    port: 0,
    host: '0.0.0.0',
    wireDialect: 'weave',
    logFormat: 'pretty',
    trustProxy: ['10.0.0.0/8', '::1'],
    dataDir: './data',
    retentionDefault: { calls: 90, payloads: 30, feedback: null },
  });
});

it.each([
  ['PORT', 'http'],
  ['PORT', '70000'],
  ['PORT', '-1'],
  ['PORT', '1e3'],
  ['DATABASE_POOL_SIZE', '1'],
  ['MAX_BODY_BYTES', '10'],
  ['WIRE_DIALECT', 'Weave'],
  ['LOG_LEVEL', 'loud'],
  ['TRUST_PROXY', 'yes'],
  ['TRUST_PROXY', '10.0.0.0/33'],
  ['TRUST_PROXY', '::1, 10.0.0/8'],
  ['RATE_LIMIT_REQUESTS_PER_MINUTE', '1.5'],
  ['LOG_FORMAT', 'xml'],
  ['OPERATIONS_PORT', '70000'],
  ['ALLOWED_HOSTS', 'http://a'],
  ['ALLOWED_HOSTS', 'a:3000'],
  ['DATABASE_URL', 'mysql://x'],
  ['RETENTION_DEFAULT', '30'],
  ['RETENTION_DEFAULT', 'calls=0'],
  ['RETENTION_DEFAULT', 'calls=30,spans=7'],
  ['RETENTION_DEFAULT', 'feedback=36501'],
  ['POSTGRES_SETTINGS', 'work_mem'],
  ['POSTGRES_SETTINGS', 'work_mem=1MB --help'],
])('refuses %s=%s by the name of the variable', (name, value) => {
  expect(() => loadConfig({ [name]: value })).toThrow(InvalidSetting);
  expect(() => loadConfig({ [name]: value })).toThrow(new RegExp(`^${name} must`));
});

describe('a setting in a file', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'skein-test-')), 'password');
  afterAll(() => rmSync(dirname(file), { recursive: true }));
  const DATABASE_URL = 'postgres://skein@db/skein';

  it('is read without the white space around it', () => {
    writeFileSync(file, ' p w/\n');
    const { databaseUrl } = loadConfig({ DATABASE_URL, DATABASE_PASSWORD_FILE: file });
    expect(databaseUrl).toBe('postgres://skein:p%20w%2F@db/skein');
  });

  it('is refused beside the setting itself, and when it cannot be read', () => {
    const both = { DATABASE_URL, DATABASE_PASSWORD: 'x', DATABASE_PASSWORD_FILE: file };
    expect(() => loadConfig(both)).toThrow('DATABASE_PASSWORD and DATABASE_PASSWORD_FILE are both');
    const absent = { DATABASE_URL, DATABASE_PASSWORD_FILE: `${file}-absent` };
    expect(() => loadConfig(absent)).toThrow(
      /^DATABASE_PASSWORD_FILE: .*cannot be read \(ENOENT\)/,
    );
  });
});

it('hands settings of PostgreSQL on', () => {
  const { postgresFlags } = loadConfig({ POSTGRES_SETTINGS: ' work_mem=8MB  jit=on ' });
  expect(postgresFlags).toEqual(['-c', 'work_mem=8MB', '-c', 'jit=on']);
});

it('never repeats the DATABASE_URL, which holds a password', () => {
  expect(() => loadConfig({ DATABASE_URL: 'http://user:secret@host' })).toThrow(/^(?!.*secret)/);
});

it('.env.example gives the defaults', () => {
  const lines = readFileSync('.env.example', 'utf8').matchAll(/^# ?([A-Z\d_]+)=(.*)$/gm);
  const given = [...lines].map(([, name, value]) => [name!, value!] as const);
  // examples, which have no default
  const examples =
    /^(DATABASE_URL|POSTGRES_SETTINGS|GATEWAY_PROVIDERS|PUBLIC_URL|JWT_ISSUERS|OIDC_(?!SCOPES|GROUPS))/;
  const rest = Object.fromEntries(given.filter(([name]) => !examples.test(name)));
  const memory = 64 * 2 ** 30; // enough for the largest default that depends on it
  const files = 2 ** 20;
  expect(loadConfig(rest, memory, files)).toEqual(loadConfig({}, memory, files));
});

it('takes any password as it is from DATABASE_PASSWORD, which wins', () => {
  const urlWith = (url: string) =>
    loadConfig({ DATABASE_URL: url, DATABASE_PASSWORD: 'p@ss/w#rd?:%' }).databaseUrl!;
  for (const url of ['postgres://ada@h:5432/x', 'postgres://ada:other@h:5432/x']) {
    expect(decodeURIComponent(new URL(urlWith(url)).password)).toBe('p@ss/w#rd?:%');
    expect(urlWith(url)).toMatch(/^postgres:\/\/ada:[^@]*@h:5432\/x$/);
  }
  expect(urlWith('postgres://ada@/x?host=/run')).toMatch(/@\/x\?host=\/run$/);
});

it.each(['', 'postgres://h/x', 'postgres://@h/x'])(
  'refuses DATABASE_PASSWORD beside DATABASE_URL "%s", which names no user',
  (url) => {
    const env = { DATABASE_URL: url, DATABASE_PASSWORD: 'hunter2' };
    expect(() => loadConfig(env)).toThrow(/^DATABASE_PASSWORD needs (?!.*hunter2)/);
  },
);

it.each(['postgres://ada:p@ss/w#rd@h/x', 'postgres://ada:p?x@h/x'])(
  'refuses %s, whose password would end the URL too early',
  (url) => {
    expect(() => loadConfig({ DATABASE_URL: url })).toThrow(/DATABASE_PASSWORD/);
  },
);

it.each([
  [{}, 24 * 1024, 384],
  [{}, 512, 128],
  [{ DATABASE_URL: 'postgres://h/x' }, 512, 192],
  [{ DATABASE_URL: 'postgres://h/x', WORKERS: '2' }, 512, 64],
  [{ DATABASE_URL: 'postgres://h/x' }, 64, 16],
  [{ BODY_BUDGET_BYTES: '104857600' }, 64, 100],
])('with %j and %d MiB of memory the budget of bodies is %d MiB', (env, memory, budget) => {
  expect(loadConfig(env, memory * 2 ** 20).bodyBudgetBytes).toBe(budget * 2 ** 20);
});

it.each([
  [{}, 1_048_576, 10_000, 5000],
  [{}, 1024, 768, 384],
  [{}, 20, 16, 8],
  [{ MAX_CONNECTIONS: '700' }, 1024, 700, 350],
  [{ MAX_CONNECTIONS_PER_ADDRESS: '3' }, 1024, 768, 3],
])('with %j and %d files there are %d connections, %d of one address', (env, files, all, one) => {
  expect(loadConfig(env, undefined, files)).toMatchObject({
    maxConnections: all,
    maxConnectionsPerAddress: one,
  });
});

it('refuses more connections than the process may have files, and more of one address than of all', () => {
  const load = (env: NodeJS.ProcessEnv) => () => loadConfig(env, undefined, 1024);
  expect(load({ MAX_CONNECTIONS: '1000' })).toThrow(
    'MAX_CONNECTIONS must be a whole number from 16 to 768',
  );
  expect(load({ MAX_CONNECTIONS_PER_ADDRESS: '769' })).toThrow(/^MAX_CONNECTIONS_PER_ADDRESS must/);
});

it('takes a list of hosts in any case', () => {
  expect(loadConfig({}).allowedHosts).toBeNull();
  expect(loadConfig({ ALLOWED_HOSTS: 'Skein.example.com, 10.0.0.1,[::1]' }).allowedHosts).toEqual([
    'skein.example.com',
    '10.0.0.1',
    '[::1]',
  ]);
});

it('.env.example names every setting, and nothing else', () => {
  const read: string[] = [];
  loadConfig(new Proxy({}, { get: (_, name) => void read.push(String(name)) }));
  const listed = [...readFileSync('.env.example', 'utf8').matchAll(/^# ?([A-Z\d_]+)=/gm)].map(
    ([, name]) => name,
  );
  const settings = read
    .filter((name) => !/^npm_|_FILE$/.test(name)) // npm's own variables, and the file of each setting
    .map((name) => name.replace(/^OIDC_\d_/, 'OIDC_'));
  expect(new Set(listed)).toEqual(new Set(settings));
});

it.each([
  [1, 0.75],
  [24, 2],
  [512, 4],
])('a process of PostgreSQL may take a twelfth of %d GiB, between bounds', (memory, most) => {
  expect(loadConfig({}, memory * 2 ** 30).postgresProcessBytes).toBe(most * 2 ** 30);
});

describe('a DATABASE_URL with several hosts', () => {
  const urlOf = (url: string) => loadConfig({ DATABASE_URL: url }).databaseUrl;

  it('has them in its parameters afterwards, which every program can read', () => {
    expect(urlOf('postgres://u:p@h1:5433,[::1],h3:6000/db?target_session_attrs=read-write')).toBe(
      'postgres://u:p@h1:5433/db?host=h1,::1,h3&port=5433,5432,6000&target_session_attrs=read-write',
    );
    expect(urlOf('postgres://h1,h2/db')).toBe('postgres://h1:5432/db?host=h1,h2&port=5432,5432');
    const already = 'postgres://u@h1:5432/db?host=h1,h2&port=5432,5432';
    expect(urlOf(already)).toBe(already);
  });

  it.each([
    ['postgres://u:p@h1:x,h2/db', 'each of its hosts as host or host:port'],
    ['postgres://u:p@h1,/db', 'each of its hosts as host or host:port'],
    ['postgres://u:p@h1,h2/db?target_session_attrs=standby', 'any, read-write, primary'],
    ['postgres://u:p@h1/db?host=a,b,c&port=1,2', 'one port, or one for each host'],
    ['postgres://u:p@h1,h2:70000/db', 'ports up to 65535'],
    [`postgres://u:p@${Array(17).fill('h').join(',')}/db`, 'at most 16 hosts'],
  ])('is refused: %s', (url, what) => {
    expect(() => urlOf(url)).toThrow(new RegExp(`^DATABASE_URL must .*${what}`));
  });
});
