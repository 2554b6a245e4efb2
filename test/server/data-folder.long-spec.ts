import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { aFolder, type Run, type Server, startServer, watched } from '../support/server.js';

/*
 * A data folder is a volume that two containers can share. These tests build the parts of a container by hand: a PID
 * namespace, an empty folder instead of the other container's socket folder, and another path to the data folder. `npm
 * run proof` in mode `intruders` does the same under load.
 */

const NAMESPACE = ['--pid', '--fork', '--mount-proc'];
const CONTAINER =
  'mount --bind "$DATA_DIR" /mnt && mount -t tmpfs tmpfs "$(sed -n 5p /mnt/pgdata/postmaster.pid)" && DATA_DIR=/mnt exec "$@"';
const canUnshare = spawnSync('unshare', [...NAMESPACE, 'true']).status === 0;
if (!canUnshare) process.stderr.write('data-folder: skipped, unshare(1) is not permitted here\n');

(canUnshare ? describe : describe.skip)('beside a running service', () => {
  const folder = aFolder();
  const statusFile = join(folder.path, 'pgdata/postmaster.pid');
  let server: Server;
  let status: string;

  beforeAll(async () => {
    server = await startServer({ DATA_DIR: folder.path });
    status = readFileSync(statusFile, 'utf8');
  });
  afterAll(async () => {
    await server.stop();
    folder.remove();
  });
  afterEach(async () => {
    expect(readFileSync(statusFile, 'utf8')).toBe(status);
    const answer = await server.post('/calls/query', { project_id: 'acme/demo' });
    expect(answer.status).toBe(200);
  });

  const inNamespace = (...program: string[]): Run =>
    watched('unshare', [...NAMESPACE, process.execPath, ...program], { DATA_DIR: folder.path });
  const inContainer = (...program: string[]): Run =>
    watched('unshare', [...NAMESPACE, 'sh', '-c', CONTAINER, 'sh', process.execPath, ...program], {
      DATA_DIR: folder.path,
    });
  const elsewhere = () =>
    `is in use by process ${server.process.pid} on ${hostname()}, in another container or PID namespace`;

  it('a command in another PID namespace goes to it', async () => {
    const keys = inNamespace('dist/src/server/commands/keys.cli.js', 'list');
    expect(await keys.exit).toBe(0);
    expect(keys.output()).toContain('admin');
  });

  it('a command in another container is refused', async () => {
    const keys = inContainer('dist/src/server/commands/keys.cli.js', 'list');
    expect(await keys.exit).toBe(1);
    expect(keys.output()).toContain(`/mnt ${elsewhere()}, and its database cannot be reached`);
  });

  it.each([
    ['another PID namespace', inNamespace],
    ['another container', inContainer],
  ])('a service in %s is refused', async (_, start) => {
    const second = start('dist/src/main.js');
    expect(await second.exit).toBe(1);
    expect(second.output()).toContain(`${elsewhere()}: stop that one first`);
  });
});
