import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { openTestDatabase } from './database.js';
import { startServer } from './server.js';

/**
 * Runs a client program with a home folder of its own, so that no setting of this machine has an effect. Returns the
 * last line of its output, parsed as JSON.
 * @throws Error with the whole output when the program fails
 */
export async function runClient(
  command: string,
  args: string[],
  env: Record<string, string>,
): Promise<any> {
  const home = mkdtempSync(join(tmpdir(), 'skein-client-'));
  const child = spawn(command, args.map(inNewest), {
    env: { PATH: process.env['PATH']!, HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, printed] = ['', ''];
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
    printed += String(chunk);
  });
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  const [exitCode] = await once(child, 'close');
  rmSync(home, { recursive: true, force: true });
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}\n${output}`);
  return lastJson(printed);
}

/**
 * `npm run test:clients` copies Node programs next to the newest versions of their packages. Returns the copy's path if
 * it exists.
 */
function inNewest(argument: string): string {
  const folder = process.env['SKEIN_CLIENTS_NPM'];
  const copy = folder && argument.endsWith('.program.mjs') ? join(folder, basename(argument)) : '';
  return copy && existsSync(copy) ? copy : argument;
}

function lastJson(printed: string): unknown {
  try {
    return JSON.parse(printed.trimEnd().split('\n').at(-1)!);
  } catch {
    return undefined;
  }
}

/**
 * Starts the real service on a database of its own. `post` sends to the door of weave's clients, and `root.post` to
 * the root.
 */
export async function startWeaveServer(env: Record<string, string> = {}) {
  const database = await openTestDatabase();
  const server = await startServer({ DATABASE_URL: database.url, ...env });
  const door = `${server.url}/weave`;
  const post: typeof server.post = (path, ...more) => server.post(`/weave${path}`, ...more);
  return {
    ...server,
    post,
    root: server,
    databaseUrl: database.url,
    /** Environment variables that point SDKs at the service. */
    settings: {
      WF_TRACE_SERVER_URL: door,
      WANDB_BASE_URL: server.url,
      WANDB_API_KEY: server.key,
    },
    callsOf: async (project_id: string): Promise<any[]> =>
      (await post('/calls/query', { project_id, include_costs: true })).body.calls,
    async close() {
      await server.stop();
      await database.drop();
    },
  };
}

export type WeaveServer = Awaited<ReturnType<typeof startWeaveServer>>;

/** `[name, status, children]` of each root call, ordered by start. */
export type CallTree = [name: string, status: string, children: CallTree][];

export function callTree(calls: any[], parent: string | null = null): CallTree {
  return calls
    .filter(({ parent_id }) => parent_id === parent)
    .map(({ id, summary }) => [
      summary.weave.trace_name,
      summary.weave.status,
      callTree(calls, id),
    ]);
}

interface WorkedOut {
  /** The price of all requests of the client, computed by hand. */
  dollars: number;
  /** The virtual environment of the client. The table shows the client's version in it. */
  environment?: string;
}

/**
 * Expects that `/calls/stats` has the computed price, and writes their ratio for the table of `npm run test:clients`.
 */
export async function expectStatistics(
  server: WeaveServer,
  project_id: string,
  { dollars, environment }: WorkedOut,
): Promise<void> {
  const { body } = await server.post('/calls/stats', {
    project_id,
    start: new Date(Date.now() - 86_400_000).toISOString(),
    usage_metrics: [{ metric: 'total_cost' }],
  });
  const cost = body.usage_buckets.reduce(
    (sum: number, { sum_total_cost }: any) => sum + Number(sum_total_cost ?? 0),
    0,
  );
  const ratio = cost / dollars;
  const title = expect.getState().currentTestName;
  const file = process.env['SKEIN_CLIENTS_RATIOS'];
  if (file) appendFileSync(file, `${JSON.stringify({ title, ratio, environment })}\n`);
  expect(ratio).toBeCloseTo(1, 9);
}
