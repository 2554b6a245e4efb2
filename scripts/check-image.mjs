// npm run check:image [-- IMAGE] starts the service from the image as an operator would: read-only, without
// capabilities, and as a user without a name. When no Docker daemon answers, or the base images cannot be pulled, it
// only prints that the check was not done. CHECK_IMAGE_ARGS contains more arguments for `docker build`.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const NAME = 'skein-check-image';
/** Largest size of the image without its base, and of the whole image, compressed as a registry sends it. */
const MOST_OWN_BYTES = 115_000_000;
const MOST_COMPRESSED_BYTES = 250_000_000;

const docker = (...args) => spawnSync('docker', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
const made = (...args) => {
  const { status, stdout, stderr } = docker(...args);
  if (status !== 0) throw new Error(`docker ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout.trim();
};
const notDone = (why) => {
  console.log(`not done: the service was not started from the image, since ${why}`);
  process.exit(0);
};
const assert = (isSo, what) => {
  if (!isSo) throw new Error(what);
  console.log(`${what}: yes`);
};
async function until(what, isSo, seconds = 60) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(200))
    if (await isSo()) return;
  throw new Error(`${what}: not within ${seconds} s\n${docker('logs', NAME).stdout}`);
}

if (docker('info').status !== 0) notDone('no daemon of Docker answers');
let [, , image] = process.argv;
if (!image) {
  image = NAME;
  const more = process.env.CHECK_IMAGE_ARGS?.split(' ').filter(Boolean) ?? [];
  const { status, stderr } = spawnSync('docker', ['build', '-t', image, ...more, '.'], {
    encoding: 'utf8',
    env: { ...process.env, DOCKER_BUILDKIT: '1' },
  });
  if (status !== 0 && /pull access denied|failed to resolve|no such host|i\/o timeout/.test(stderr))
    notDone('the base image is not to be had here');
  if (status !== 0) throw new Error(stderr);
}

const [{ Config }] = JSON.parse(made('image', 'inspect', image));
assert(Config.User === '1000:0', 'it is not root');
assert(Config.Healthcheck?.Test[0] === 'CMD', 'its health check needs no shell');
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const labels = Config.Labels ?? {};
assert(labels['org.opencontainers.image.licenses'] === 'Apache-2.0', 'it has labels');
const own = made(
  'history',
  '--no-trunc',
  '--human=false',
  '--format',
  '{{.Size}} {{.CreatedBy}}',
  image,
)
  .split('\n')
  .filter((line) => line.includes('COPY /out/'))
  .reduce((sum, line) => sum + Number(line.split(' ')[0]), 0);
assert(
  own > 0 && own < MOST_OWN_BYTES,
  `its own layer (${(own / 1e6).toFixed(0)} MB) is small enough`,
);
const saved = spawnSync('sh', ['-c', `docker save ${image} | gzip -6 | wc -c`], {
  encoding: 'utf8',
});
const compressed = Number(saved.stdout);
assert(
  compressed < MOST_COMPRESSED_BYTES,
  `compressed (${(compressed / 1e6).toFixed(0)} MB) it is small enough`,
);

const LOCKED = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges'];
/** A user id that is not in /etc/passwd. */
const USER = ['--user', '12345:0'];
const VOLUME = `${NAME}-data`;
const start = (...more) =>
  made('run', '--detach', '--name', NAME, ...LOCKED, ...more, '-p', '127.0.0.1::3000', image);
const port = () => made('port', NAME, '3000').split('\n')[0];
const state = () => JSON.parse(made('inspect', '--format', '{{json .State}}', NAME));
const remove = () => docker('rm', '--force', '--volumes', NAME);
const post = async (path, key, body) => {
  const response = await fetch(`http://${port()}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Basic ${Buffer.from(`me:${key}`).toString('base64')}`,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
};
const isReady = async () => {
  if (!state().Running) throw new Error(`it has ended\n${docker('logs', NAME).stderr}`);
  const answer = fetch(`http://${port()}/ready`).catch(() => undefined);
  // the port is open before the service listens, and `fetch` may wait for an answer that is lost
  return (await Promise.race([answer, sleep(2000)]))?.ok;
};
/** Stops the container, and returns its exit code. */
const stop = () => {
  made('stop', '--time', '30', NAME);
  return state().ExitCode;
};

remove();
docker('volume', 'rm', VOLUME);
try {
  made('volume', 'create', VOLUME);
  const volume = ['--volume', `${VOLUME}:/data`, ...USER];
  start(...volume);
  await until('it is ready', isReady);
  const key = made('exec', NAME, 'node', '-p', `fs.readFileSync('/data/first-key', 'utf8').trim()`);
  const call = {
    project_id: 'acme/image',
    op_name: 'tried',
    started_at: new Date().toISOString(),
    inputs: { from: 'the image' },
    attributes: {},
  };
  const stored = await post('/call/start', key, { start: call });
  assert(stored.status === 200, 'it stores a call');
  const { id } = JSON.parse(stored.text);
  await until('its health check says healthy', () => state().Health.Status === 'healthy');
  assert(made('exec', NAME, 'skein', 'keys', 'list').includes('admin'), 'its commands run in it');
  assert(made('run', '--rm', image, 'version').startsWith(version), 'its commands run without it');
  const sbom = JSON.parse(
    made('exec', NAME, 'node', '-p', `fs.readFileSync('/app/sbom.cdx.json', 'utf8')`),
  );
  assert(sbom.components.length > 100, 'it has an SBOM');
  assert(stop() === 0, 'it stops at SIGTERM');
  remove();
  start(...volume);
  await until('it is ready again', isReady);
  const read = await post('/call/read', key, { project_id: 'acme/image', id });
  assert(read.text.includes('"from":"the image"'), 'a new container has the call');
  remove();
  for (const ms of [0, 50, 150, 300, 600, 1000]) {
    start(...volume);
    await sleep(ms);
    made('stop', '--time', '120', NAME); // after 120 s docker kills it, with exit code 137
    assert([0, 143].includes(state().ExitCode), `SIGTERM ${ms} ms after its start ends it`);
    remove();
  }
  start(...volume);
  await until('it is ready after all of that', isReady);
  console.log(`the image is right: ${own} bytes of its own, ${compressed} compressed`);
} finally {
  remove();
  docker('volume', 'rm', VOLUME);
  if (image === NAME) docker('image', 'rm', NAME);
}
