// The built service under attack, in a process of its own with its embedded PostgreSQL.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { newSecret } from '../../dist/src/platform/auth/keys/secret.js';
import { dataFolder, freePort, started } from '../../bench/support.mjs';
import { HostileModels } from './models.mjs';
import { SignInProvider } from './provider.mjs';

const STOP_MS = 10_000;
/** Most keys of an entity in a quick run. Making 1,000 keys takes a minute. */
export const QUICK_KEYS = 200;

export class Service {
  admin = newSecret();
  dataDir = dataFolder();
  /** Secrets by name: `attacker` writes `acme/*`, `victim` writes `other/*`, `trainer` takes jobs of `acme/*`. */
  keys = /** @type {Record<string, string>} */ ({ admin: this.admin });
  /** @type {import('node:child_process').ChildProcess} */
  child;
  /** @type {string} */
  url;
  /** The port of OTLP over gRPC. */
  grpcPort = 0;
  /** The identity provider of people. */
  provider = /** @type {SignInProvider | undefined} */ (undefined);
  /** The provider behind the gateway. */
  models = /** @type {HostileModels | undefined} */ (undefined);
  /** The last lines of the log. */
  log = /** @type {string[]} */ ([]);

  /**
   * @param {number} [restMs] the probe waits so long between requests to /health, and four times between calls
   * @param {Record<string, string>} [env] additional settings
   */
  constructor(restMs = 5, env = {}) {
    this.restMs = restMs;
    this.env = env;
  }

  /** Starts the process. Another process may take the free port first, so it tries three times. */
  async launch(tries = 3) {
    const port = await freePort();
    this.grpcPort = await freePort();
    this.provider.serve(`http://127.0.0.1:${port}`);
    try {
      return await started('../dist/src/main.js', {
        ...this.provider.settings,
        ...this.models.settings,
        PORT: String(port),
        OTLP_GRPC_PORT: String(this.grpcPort),
        DATA_DIR: this.dataDir,
        BOOTSTRAP_API_KEY: this.admin,
        ...this.env,
      });
    } catch (error) {
      if (tries === 1) throw error;
      return this.launch(tries - 1);
    }
  }

  async start() {
    this.provider ??= await SignInProvider.open();
    this.models ??= await new HostileModels().open();
    const { child, url } = await this.launch();
    Object.assign(this, { child, url, log: [] });
    child.stdout.on('data', (chunk) => {
      this.log.push(...String(chunk).split('\n').filter(Boolean));
      this.log.splice(0, this.log.length - 50);
    });
    this.keys.attacker ??= (await this.makeKey('writer', 'acme/*')).secret;
    this.keys.victim ??= (await this.makeKey('writer', 'other/*')).secret;
    this.keys.trainer ??= (await this.makeKey('trainer', 'acme/*')).secret;
    this.probe = new Probe(url, basic(this.keys.victim), this.restMs);
    return this;
  }

  async makeKey(role, scope) {
    return this.asAdmin('/keys/create', { user: role, role, scopes: [scope] });
  }

  /** @returns {Promise<any>} */
  async asAdmin(path, body) {
    const answer = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: basic(this.admin) },
      body: JSON.stringify(body),
    });
    if (answer.status !== 200) throw new Error(`${path} answered ${await answer.text()}`);
    return answer.json();
  }

  /** Returns a login code, from the link that the command prints. */
  async loginCode() {
    const file = fileURLToPath(
      new URL('../../dist/src/server/commands/keys.cli.js', import.meta.url),
    );
    const env = { ...process.env, DATA_DIR: this.dataDir };
    const { stdout } = await promisify(execFile)(process.execPath, [file, 'login'], { env });
    return /#code=([\w-]+)/.exec(stdout)[1];
  }

  get isAlive() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Memory of the process in MiB: `VmRSS` is the current size, `VmHWM` the peak since the last `resetPeak`. */
  mebibytes(name) {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024);
  }

  resetPeak() {
    writeFileSync(`/proc/${this.child.pid}/clear_refs`, '5');
  }

  /** Memory of the PostgreSQL processes in MiB without shared memory: of all, and of the largest one. */
  get postgres() {
    const found = { all: 0, largest: 0 };
    for (const id of descendants(this.child.pid)) {
      const status = readProc(id, 'status');
      if (!/^Name:\s+postgres$/m.test(status)) continue;
      const own = Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
      found.all += own;
      found.largest = Math.max(found.largest, own);
    }
    return { all: Math.round(found.all), largest: Math.round(found.largest) };
  }

  /** Seconds of CPU that the process has used. */
  cpuSeconds() {
    return secondsOf(`/proc/${this.child.pid}/stat`);
  }

  /** CPU seconds of the thread that runs the event loop. */
  loopSeconds() {
    return secondsOf(`/proc/${this.child.pid}/task/${this.child.pid}/stat`);
  }

  async stop() {
    await this.probe.stop();
    if (!this.isAlive) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(timer);
    await pause(500); // PostgreSQL notices within 0.1 s that its parent was killed
  }

  async restart() {
    await this.stop();
    await this.start();
  }

  async remove() {
    await this.stop();
    this.provider?.close();
    this.models?.close();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/** Reads a file of a process in /proc. Returns an empty text when the process has ended. */
function readProc(id, file) {
  try {
    return readFileSync(`/proc/${id}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** Returns all descendants of a process. */
function descendants(id) {
  const children = readProc(id, `task/${id}/children`).match(/\d+/g) ?? [];
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function secondsOf(file) {
  const stat = readFileSync(file, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) / 100;
}

/** Sends `/health` and the victim's `/call/start` all the time, in its own thread. */
class Probe {
  constructor(url, authorization, restMs) {
    this.worker = new Worker(new URL('probe.mjs', import.meta.url), {
      workerData: { url, authorization, restMs },
    });
  }

  /** Returns the measurements since the last report. */
  async report() {
    this.worker.postMessage('report');
    const [seen] = await once(this.worker, 'message');
    return seen;
  }

  stop() {
    return this.worker.terminate();
  }
}

export const basic = (secret) => `Basic ${Buffer.from(`attack:${secret}`).toString('base64')}`;
