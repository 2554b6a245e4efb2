// Writes what is derived from the code: openapi.json. With --check it writes nothing and fails when that is stale.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';

process.env.LOG_LEVEL ??= 'error';
const { dataSourceOptions } = await import('../dist/ormconfig.js');
const { createApp, openApiDocument } = await import('../dist/src/app.js');
const { openEmbeddedPostgres } = await import('../dist/src/postgres/embedded-postgres.js');

const dataDir = mkdtempSync(join(tmpdir(), 'skein-openapi-'));
chmodSync(dataDir, 0o755);
const postgres = await openEmbeddedPostgres({ dataDir, flags: ['-c', 'fsync=off'] });
const app = await createApp(new DataSource(dataSourceOptions(postgres.url)));
const text = `${JSON.stringify(openApiDocument(app), null, 2)}\n`;
await app.close();
await postgres.stop();
rmSync(dataDir, { recursive: true });

const isStale = readFileSync('openapi.json', { encoding: 'utf8', flag: 'a+' }) !== text;
if (process.argv.includes('--check') && isStale) {
  console.error('openapi.json is stale: run `npm run generate`');
  process.exitCode = 1;
} else if (isStale) writeFileSync('openapi.json', text);
