// Answers 0 when dist/ was built from the sources as they are now, or there are none, as in the image; `--write` records
// that it was.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const STAMP = 'dist/.stamp';
if (existsSync(STAMP) && !existsSync('src')) process.exit(0);

const hash = createHash('sha256');
const sources = ['src', 'console/src', 'console/public']
  .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && entry.name !== 'schema.d.ts') // made of openapi.json
  .map((entry) => `${entry.parentPath}/${entry.name}`)
  .toSorted();
for (const file of [
  ...sources,
  'console/index.html',
  'console/vite.config.ts',
  'ormconfig.ts',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
])
  hash.update(file).update('\0').update(readFileSync(file));
const digest = hash.digest('hex');

if (process.argv.includes('--write')) writeFileSync(STAMP, digest);
else if (!existsSync(STAMP) || readFileSync(STAMP, 'utf8') !== digest) {
  console.error('Skein is built from its sources first, which takes half a minute or so …');
  process.exit(1);
}
