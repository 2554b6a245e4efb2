// Fills disks of several sizes, as root on Linux: by writes until they are refused, and by another program to the last
// byte. Then the service or its PostgreSQL is killed or stopped, and started again.
//
// After that it follows docs/erasing.md until writes work again. After each step every acknowledged call that was not
// erased must exist. Exits with 1 when anything is wrong. WORKERS=2 is passed on to the service.
//
//     npm run build && node bench/disk.mjs [--sizes 300,400,600] [--kind tmpfs|ext4] [--way <words of a way>]
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  openSync,
  truncateSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { newSecret } from '../dist/src/platform/auth/keys/secret.js';
import { dataFolder } from './support.mjs';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '300,400,600' },
    kind: { type: 'string', default: 'tmpfs' },
    way: { type: 'string', default: '' },
  },
});
const PROJECT = 'acme/disk';
const PATIENCE_MS = 180_000;
const EPOCH = Date.UTC(2026, 0, 1);
const MIB = 1024 * 1024;

/** 20 kB that do not compress, always the same for one id. */
function textOf(id) {
  let text = '';
  while (text.length < 20_000)
    text += createHash('sha512')
      .update(id + text.length)
      .digest('base64');
  return text;
}

/** A disk with a service on it. */
class Case {
  key = newSecret();
  folder = dataFolder();
  /** Numbers of acknowledged calls. Call n started n seconds after the epoch. */
  acknowledged = new Set();
  next = 0;
  output = '';

  constructor(name, sizeMb) {
    this.name = `${sizeMb} MB, ${name}`;
    this.ballast = join(this.folder, 'ballast');
    this.dataDir = join(this.folder, 'data');
    if (options.kind === 'ext4') {
      closeSync(openSync(this.image, 'w'));
      truncateSync(this.image, sizeMb * MIB);
      execFileSync('mkfs.ext4', ['-q', '-m', '0', this.image]);
      execFileSync('mount', ['-o', 'loop', this.image, this.folder]);
    } else execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m`, 'tmpfs', this.folder]);
    chmodSync(this.folder, 0o755);
  }

  get image() {
    return `${this.folder}.img`;
  }

  get pgdata() {
    return join(this.dataDir, 'pgdata');
  }

  say(what) {
    const { bavail, bsize } = statfsSync(this.folder);
    const segments = readdirSync(join(this.pgdata, 'pg_wal')).filter((file) => file.length === 24);
    const state = `${Math.floor((bavail * bsize) / MIB)} MiB free, ${segments.length} segments`;
    console.log(`${this.name}: ${what} (${state})`);
  }

  command(name, file, DATA_DIR) {
    const env = { PATH: process.env.PATH, DATA_DIR };
    execFileSync(process.execPath, [`dist/src/server/commands/${name}.cli.js`, file], {
      env,
      stdio: 'pipe',
    });
  }

  get isRunning() {
    return this.service.exitCode === null && this.service.signalCode === null;
  }

  /** Returns false when the service cannot use its database because the disk is full. */
  async comesUp() {
    const from = this.output.length;
    for (;;) {
      if ((await fetch(`${this.url}/ready`)).status === 200) return true;
      if (/No space left on device/.test(this.output.slice(from))) return false;
      await pause(50);
    }
  }

  /** Starts the service unless it runs. */
  async start() {
    if (this.service && this.isRunning) return;
    const env = { PATH: process.env.PATH, PORT: '0', BOOTSTRAP_API_KEY: this.key };
    const from = this.output.length;
    this.service = spawn(process.execPath, ['dist/src/main.js'], {
      env: { ...env, DATA_DIR: this.dataDir, WORKERS: process.env.WORKERS ?? '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.ended = once(this.service, 'exit');
    for (const stream of [this.service.stdout, this.service.stderr])
      stream.on('data', (chunk) => (this.output += chunk));
    const url = () => /listens on (http:\/\/[^\s"]+)/.exec(this.output.slice(from))?.[1];
    while (!url()) {
      if (!this.isRunning) throw new Error(this.output.slice(from));
      await pause(20);
    }
    this.url = url();
  }

  async end(signal) {
    this.service.kill(signal);
    await this.ended;
  }

  async post(path, body) {
    const authorization = `Basic ${Buffer.from(`me:${this.key}`).toString('base64')}`;
    const answer = await fetch(this.url + path, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  }

  async writes() {
    return (await (await fetch(`${this.url}/ready`)).json()).writes;
  }

  /** Writes a batch and returns whether it was acknowledged. */
  async write(count) {
    const numbers = Array.from({ length: count }, () => this.next++);
    const batch = numbers.map((n) => {
      const started_at = new Date(EPOCH + n * 1000).toISOString();
      const inputs = { text: textOf(`c${n}`) };
      const ids = { id: `c${n}`, trace_id: `t${n}`, project_id: PROJECT };
      return { mode: 'start', req: { start: { ...ids, op_name: 'disk', started_at, inputs } } };
    });
    const { status, text } = await this.post('/call/upsert_batch', { batch });
    if (status === 200) for (const n of numbers) this.acknowledged.add(n);
    else if (status !== 503) throw new Error(`a write was answered ${status}: ${text}`);
    return status === 200;
  }

  async fillByWrites() {
    const writer = async () => {
      while (await this.write(20));
    };
    await Promise.all([writer(), writer(), writer(), writer()]);
    if ((await this.writes()) !== 'refused')
      throw new Error('/ready does not say that writes are refused');
    if (!this.output.includes('is nearly full: writes are refused'))
      throw new Error('the log does not say why writes are refused');
    await this.assertAllThere();
    this.say(`writes are refused after ${this.acknowledged.size} calls`);
  }

  /** Fills the disk to the last byte, as another program would. */
  fillByOthers() {
    for (const size of ['1M', '4k'])
      spawnSync('dd', [
        'if=/dev/zero',
        `of=${this.ballast}`,
        `bs=${size}`,
        'oflag=append',
        'conv=notrunc',
      ]);
    this.say('another program has filled the disk');
  }

  async assertAllThere() {
    const query = { project_id: PROJECT, columns: ['id'] };
    const { status, text } = await this.post('/calls/stream_query', query);
    if (status !== 200) throw new Error(`reading was answered ${status}: ${text}`);
    const ids = new Set(
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).id),
    );
    const numbers = [...this.acknowledged];
    const lost = numbers.filter((n) => !ids.has(`c${n}`));
    if (lost.length > 0) throw new Error(`${lost.length} acknowledged calls are lost`);
    for (let i = 0; i < numbers.length; i += Math.ceil(numbers.length / 20)) {
      const id = `c${numbers[i]}`;
      const answer = await this.post('/call/read', { project_id: PROJECT, id });
      if (JSON.parse(answer.text).call?.inputs.text !== textOf(id))
        throw new Error(`${id} is damaged: ${answer.text.slice(0, 300)}`);
    }
  }

  /** Follows docs/erasing.md: erases calls and waits. */
  async wayOut(part) {
    const before = Math.floor(this.next * part);
    const since = performance.now();
    const body = { project_id: PROJECT, before: new Date(EPOCH + before * 1000).toISOString() };
    const { status, text } = await this.post('/calls/purge', body);
    if (status !== 200) throw new Error(`erasing was answered ${status}: ${text}`);
    for (const n of this.acknowledged) if (n < before) this.acknowledged.delete(n);
    await this.untilTaken();
    await this.assertAllThere();
    this.say(
      `erased, and writes are taken after ${Math.round((performance.now() - since) / 1000)} s`,
    );
  }

  async untilTaken() {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await this.write(1))) {
      if (performance.now() > deadline) throw new Error('writes are not taken again');
      await pause(200);
    }
  }

  async close() {
    await this.end('SIGKILL');
    // the processes of a killed PostgreSQL keep the disk open for a moment
    while (spawnSync('umount', [this.folder]).status !== 0) await pause(100);
    rmSync(this.folder, { recursive: true });
    rmSync(this.image, { force: true });
  }
}

/** The other way out: restores a backup into a folder with free space. */
async function movedElsewhere(disk) {
  await disk.fillByWrites();
  const folder = dataFolder();
  const file = join(folder, 'full.skein');
  try {
    disk.command('backup', file, disk.dataDir);
    await disk.end('SIGTERM');
    disk.dataDir = join(folder, 'data');
    disk.command('restore', file, disk.dataDir);
    await disk.start();
    await disk.assertAllThere();
    await disk.untilTaken();
  } finally {
    await disk.end('SIGTERM');
    rmSync(folder, { recursive: true });
  }
}

async function erasedAgainAndAgain(disk) {
  await disk.fillByWrites();
  for (const signal of ['SIGKILL', 'SIGTERM']) {
    await disk.end(signal);
    await disk.start();
    await disk.assertAllThere();
    disk.say(`started after ${signal}`);
  }
  for (const part of [0.5, 0.7, 0.8, 0.9]) {
    await disk.fillByWrites();
    await disk.wayOut(part);
  }
}

const filledByOthers = (end) => async (disk) => {
  await disk.fillByWrites();
  disk.fillByOthers();
  await disk.assertAllThere();
  const { status } = await disk.post('/calls/purge', { project_id: PROJECT, filter: {} });
  if (status !== 503) throw new Error(`erasing on a disk without any room was answered ${status}`);
  await disk.assertAllThere();
  await end(disk);
  await restarted(disk);
  await disk.wayOut(0.5);
};

/**
 * PostgreSQL ends when the WAL needs a segment for which the disk has no space. So writes are checked only after space
 * is freed.
 */
async function filledUnderLoad(disk) {
  const writer = async () => {
    while (await disk.write(20).catch(() => false));
  };
  const load = [writer(), writer(), writer(), writer()];
  while (disk.acknowledged.size < 1000) await pause(20);
  disk.fillByOthers();
  await Promise.all(load);
  await disk.end('SIGKILL');
  await restarted(disk);
  await disk.untilTaken();
}

/**
 * A start on a full disk may fail, because it needs a file of some kilobytes, but it must report the reason. After
 * space is freed, all data must exist.
 */
async function restarted(disk) {
  const isUp = await disk.start().then(
    () => disk.comesUp(),
    (error) => {
      if (!/No space left on device/.test(error.message)) throw error;
      return false;
    },
  );
  if (isUp) await disk.assertAllThere();
  disk.say(isUp ? 'it runs on the full disk' : 'it cannot run on the full disk, and says why');
  rmSync(disk.ballast);
  if (!disk.isRunning) await disk.start();
  while (!(await disk.comesUp())) await pause(50);
  await disk.assertAllThere();
}

const WAYS = {
  'filled by writes and erased': erasedAgainAndAgain,
  'filled by writes and moved elsewhere': movedElsewhere,
  'filled by others under load, service killed': filledUnderLoad,
  'filled by others, service killed': filledByOthers((disk) => disk.end('SIGKILL')),
  'filled by others, service stopped': filledByOthers((disk) => disk.end('SIGTERM')),
  'filled by others, PostgreSQL killed': filledByOthers(async (disk) => {
    const status = readFileSync(join(disk.pgdata, 'postmaster.pid'), 'utf8');
    process.kill(Number(status.split('\n')[0]), 'SIGKILL');
    while (!disk.output.includes('PostgreSQL has ended unexpectedly')) await pause(20);
  }),
};

let failed = 0;
for (const size of options.sizes.split(',').map(Number))
  for (const [name, way] of Object.entries(WAYS)) {
    if (!name.includes(options.way)) continue;
    const disk = new Case(name, size);
    try {
      await disk.start();
      await way(disk);
      console.log(`PASS ${disk.name}`);
    } catch (error) {
      failed++;
      console.log(`FAIL ${disk.name}: ${error.stack}\n${disk.output.slice(-2000)}`);
    } finally {
      await disk.close();
    }
  }
process.exitCode = failed > 0 ? 1 : 0;
