// Builds dist/: the service with swc, the files that nest-cli.json lists as assets, and the console with Vite, all at
// the same time. `npm run check:types` checks types. A thread writes src/metadata.ts, which contains what the plugin of
// @nestjs/swagger derives from types (docs/adr/0073-build.md).
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';
import { Worker } from 'node:worker_threads';
import { transform } from '@swc/core';
import { build as buildConsole } from 'vite';
import { jsc } from './swc.mjs';

const OUT = 'dist';
const { compilerOptions } = JSON.parse(readFileSync('nest-cli.json', 'utf8'));
const assets = new Set(compilerOptions.assets.map(({ include }) => extname(include)));
const sources = readdirSync('src', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));
const isCode = (file) => /(?<!\.d|\.spec)\.ts$/.test(file);
const METADATA = 'src/metadata.ts';

rmSync(OUT, { recursive: true, force: true });
for (const file of sources.filter((name) => assets.has(extname(name))))
  writeFileSync(outOf(file), readFileSync(file));
await Promise.all([buildConsole({ root: 'console', logLevel: 'warn' }), buildService()]);
await completePostgres();

/** Completes the embedded PostgreSQL, since the user of the service may not be allowed to write into node_modules. */
async function completePostgres() {
  const { postgresBinaries } = await import('../dist/src/platform/postgres/postgres-account.js');
  try {
    postgresBinaries();
  } catch {
    // There is none for this platform, or another user completes it. The start says so if it needs it.
  }
}

async function buildService() {
  const isDto = (file) => file.endsWith('.dto.ts');
  const code = sources.filter((file) => isCode(file) && file !== METADATA);
  await Promise.all(['ormconfig.ts', ...code.filter((file) => !isDto(file))].map(compile));
  const [status] = await once(new Worker('./scripts/api-metadata.mjs', { env: {} }), 'exit');
  if (status !== 0) process.exit(status);
  await Promise.all([METADATA, ...code.filter(isDto)].map(compile));
}

async function compile(file) {
  const out = outOf(file).replace(/\.ts$/, '.js');
  const { code, map } = await transform(readFileSync(file, 'utf8'), {
    filename: file,
    sourceFileName: relative(dirname(out), file),
    sourceMaps: true,
    inlineSourcesContent: false,
    swcrc: false,
    jsc,
    module: { type: 'es6' },
  });
  writeFileSync(out, `${code}//# sourceMappingURL=${basename(out)}.map\n`);
  writeFileSync(`${out}.map`, map);
}

/** Returns the path of the output, and creates its folder. */
function outOf(file) {
  const out = join(OUT, file);
  mkdirSync(dirname(out), { recursive: true });
  return out;
}
