// Builds dist/ unless it was built from the current sources. Does nothing without sources, as in the image. `--write`
// records that dist/ was built from the current sources, and the commit: SOURCE_COMMIT, else git's, else `unknown`.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const STAMP = 'dist/build.json';
if (existsSync(STAMP) && !existsSync('src')) process.exit(0);

const hash = createHash('sha256');
const sources = ['src', 'console/src', 'console/public']
  .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && entry.name !== 'schema.d.ts') // generated from openapi.json
  .map((entry) => `${entry.parentPath}/${entry.name}`)
  .toSorted();
for (const file of [
  ...sources,
  'console/index.html',
  'console/vite.config.ts',
  'nest-cli.json',
  'ormconfig.ts',
  'package-lock.json',
  'scripts/api-metadata.mjs',
  'scripts/build.mjs',
  'scripts/swc.mjs',
])
  hash.update(file).update('\0').update(readFileSync(file));
const sha256 = hash.digest('hex');

if (process.argv.includes('--write'))
  writeFileSync(STAMP, `${JSON.stringify({ sources: sha256, commit: commitOfSources() })}\n`);
else if (!existsSync(STAMP) || JSON.parse(readFileSync(STAMP, 'utf8')).sources !== sha256) {
  if (!existsSync('node_modules/@swc/core')) {
    console.error(
      'Skein must be built from its sources, for which packages are missing: run npm ci, without --omit=dev',
    );
    process.exit(1);
  }
  console.error('Skein is built from its sources first, which takes seconds …');
  const build = spawnSync('npm', ['run', '--silent', 'build'], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  process.exit(build.status ?? 1);
}

/** Returns the commit, with `-dirty` at its end when files of the commit were changed. */
function commitOfSources() {
  const given = process.env.SOURCE_COMMIT;
  if (given) {
    if (/^[\w.+-]{1,64}$/.test(given)) return given;
    console.error('SOURCE_COMMIT must be 1 to 64 letters, digits or any of . _ + -');
    process.exit(1);
  }
  if (!existsSync('.git')) return 'unknown'; // git would use a repository around this folder
  const describe = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
  const { status, stdout } = spawnSync('git', describe, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : 'unknown';
}
