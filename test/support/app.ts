import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { dataSourceOptions } from '../../ormconfig.js';
import { createApp } from '../../src/server/app.js';
import { KeysService } from '../../src/platform/auth/keys/keys.service.js';
import { loadConfig } from '../../src/platform/config/config.js';
import type { Role } from '../../src/platform/roles.js';
import { openTestDatabase } from './database.js';
import { startEngine } from './engine.js';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed text; undefined when it is no JSON. */
  body: any;
}

export type TestApp = Awaited<ReturnType<typeof startApp>>;

const configOf = (env: Record<string, string> = {}) => loadConfig({ ...process.env, ...env });

/** Creates an app on an existing database, without listening. */
export async function openApp(url: string, env: Record<string, string> = {}) {
  const config = configOf({ DATABASE_URL: url, ...env });
  const dataSource = new DataSource(dataSourceOptions(url, undefined, config.databasePoolSize));
  const app: NestExpressApplication = await createApp(dataSource, config);
  return { app, dataSource };
}

/**
 * Starts the real app on a port and a database of its own. Its gateway can call a fake engine with the model `echo`.
 * `prepare` runs on the database before the app opens it.
 */
export async function startApp(
  env: Record<string, string> = {},
  prepare?: (databaseUrl: string) => Promise<void>,
) {
  const database = await openTestDatabase();
  await prepare?.(database.url);
  const engine = await startEngine();
  const provider = { name: 'engine', base_url: engine.url, models: ['echo'] };
  const loras = { name: 'loras', base_url: engine.url, engine: 'vllm' };
  const exported = join(tmpdir(), `skein-exported-${uuidv7()}`);
  const { app, dataSource } = await openApp(database.url, {
    EXPORT_URL: pathToFileURL(exported).href,
    GATEWAY_PROVIDERS: JSON.stringify([provider, loras]),
    ...env,
  });
  // after a sign-in the browser returns to PUBLIC_URL, so the app must listen on its port
  const port = env['PUBLIC_URL'] ? new URL(env['PUBLIC_URL']).port : 0;
  await app.listen(port, '127.0.0.1');
  const url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
  const keys = app.get(KeysService);

  const aKey = async (role: Role = 'writer', scopes = ['*'], userName = 'ada') =>
    (await keys.create({ userName, role, scopes }, { keyId: null, userName: 'test' })).secret;
  const key = await aKey('admin');

  return {
    app,
    url,
    key,
    aKey,
    dataSource,
    databaseUrl: database.url,
    /** Folder of exports by schedule. */
    exported,
    /** Sends JSON, or a text unchanged. Uses the admin key by default. */
    post: (
      path: string,
      body: unknown,
      options: { key?: string; headers?: Record<string, string> } = {},
    ) => send(url + path, body, { authorization: basic(options.key ?? key), ...options.headers }),
    bearer: (path: string, body: unknown, options: { key?: string; method?: string } = {}) =>
      send(url + path, body, { authorization: `Bearer ${options.key ?? key}` }, options.method),
    query: <T = any>(text: string, values: unknown[] = []): Promise<T[]> =>
      dataSource.query(text, values),
    async close() {
      await app.close();
      await database.drop();
      await engine.close();
      rmSync(exported, { recursive: true, force: true });
    },
  };
}

/** Starts an app before the tests of the surrounding block, and closes it after them. */
export function useApp(env?: Record<string, string>): TestApp {
  const app = {} as TestApp;
  beforeAll(async () => {
    Object.assign(app, await startApp(env));
  });
  afterAll(() => app.close());
  return app;
}

/** Starts an app as `useApp` does. Requests go to the door of weave's clients, and `url` is its address. */
export function useWeaveDoor(): TestApp {
  const app = useApp();
  beforeAll(() => {
    const { post } = app;
    app.post = (path, ...more) => post(`/weave${path}`, ...more);
    app.url += '/weave';
  });
  return app;
}

export const basic = (key: string, user = 'me') =>
  `Basic ${Buffer.from(`${user}:${key}`).toString('base64')}`;

/** Sends a request with a JSON body. A text or bytes are sent unchanged. */
export async function send(
  url: string,
  body: unknown,
  headers: Record<string, string>,
  method = 'POST',
): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(method !== 'GET' &&
      body !== undefined && { body: isRaw ? (body as string) : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The objects of a JSONL body. */
export const linesOf = ({ text }: Answer): any[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
