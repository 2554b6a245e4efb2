import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { type Answer, basic, send } from './app.js';
import { until } from './until.js';

/** Makes a folder that every account may enter. */
export function aFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'skein-e2e-'));
  chmodSync(path, 0o755);
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export interface Run {
  process: ChildProcess;
  /** The output so far, of both streams. */
  output: () => string;
  exit: Promise<number | null>;
}

/** Runs one of the service's programs (`main.js`, `server/commands/keys.cli.js`) from dist/. */
export function run(program: string, env: Record<string, string>, args: string[] = []): Run {
  return watched(process.execPath, [`dist/src/${program}`, ...args], env);
}

export const npmStart = (env: Record<string, string>): Run => watched('npm', ['start'], env);

/** Runs a program with no variable of our environment except PATH. */
export function watched(command: string, args: string[], env: Record<string, string>): Run {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH']!, PORT: '0', OTLP_GRPC_PORT: 'off', ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => (output += String(chunk)));
  return {
    process: child,
    output: () => output,
    exit: once(child, 'close').then(([code]) => code as number | null),
  };
}

export interface Server extends Run {
  url: string;
  key: string;
  post(path: string, body: unknown): Promise<Answer>;
  /** Sends a signal and waits for the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts the real service in a process of its own and waits until it listens. */
export async function startServer(env: Record<string, string>): Promise<Server> {
  const key = env['BOOTSTRAP_API_KEY'] ?? newSecret();
  const server = run('main.js', { BOOTSTRAP_API_KEY: key, ...env });
  const urlOf = () => /listens on (http:\S+?)["\s]/.exec(server.output())?.[1];
  await until(() => urlOf() !== undefined || server.process.exitCode !== null);
  const url = urlOf();
  if (!url) throw new Error(`the server did not start:\n${server.output()}`);
  return {
    ...server,
    url,
    key,
    post: (path, body) => send(url + path, body, { authorization: basic(key) }),
    async stop(signal = 'SIGTERM') {
      server.process.kill(signal);
      const hasEnded = () => server.process.exitCode !== null || server.process.signalCode !== null;
      await until(hasEnded).catch((error: Error) => {
        error.message += `\n${server.output().slice(-5000)}`;
        throw error;
      });
      return server.exit;
    },
  };
}

/** Finds a port that was free a moment ago. The kernel gives ports from 32768 on to connections of other tests. */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_768);
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort();
  }
  server.close();
  await once(server, 'close');
  return port;
}
