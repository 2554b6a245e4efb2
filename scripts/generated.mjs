// Writes what follows from the built code: openapi.json and schema.sql in generated/, and the hashes of new migrations.
// With `--check` it writes nothing, and fails when one of them is stale. It always fails when a migration differs
// from its hash.
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { DataSource } from 'typeorm';
import { inTemporaryFolder } from './temporary-folder.mjs';

const isCheck = process.argv.includes('--check');
process.env.LOG_LEVEL ??= 'error';
const { dataSourceOptions } = await import('../dist/ormconfig.js');
const { createApp, openApiDocument } = await import('../dist/src/server/app.js');
const { loadConfig } = await import('../dist/src/platform/config/config.js');
const { migrate } = await import('../dist/src/platform/database/migrate.js');
const { openEmbeddedPostgres } = await import('../dist/src/platform/postgres/embedded-postgres.js');

const made = await inTemporaryFolder(async (dataDir) => {
  chmodSync(dataDir, 0o755);
  const postgres = await openEmbeddedPostgres({ dataDir, flags: ['-c', 'fsync=off'] });
  try {
    const app = await createApp(
      new DataSource(dataSourceOptions(postgres.url)),
      loadConfig(process.env),
    );
    const description = `${JSON.stringify(openApiDocument(app), null, 2)}\n`;
    await app.close();
    return {
      'generated/openapi.json': description,
      'generated/schema.sql': await schema(postgres.url),
    };
  } finally {
    await postgres.stop();
  }
});

for (const [file, text] of Object.entries(made)) printInto(file, text);

/**
 * @param {string} file
 * @param {string} text
 */
function printInto(file, text) {
  if (readFileSync(file, { encoding: 'utf8', flag: 'a+' }) === text) return;
  if (isCheck) fail(`${file} is stale: run \`npm run generate\``);
  else writeFileSync(file, text);
}

/** @param {string} url of an empty database */
async function schema(url) {
  const dataSource = await new DataSource(dataSourceOptions(url)).initialize();
  await migrate(dataSource);
  const [{ text: tables }] = await dataSource.query(
    readFileSync('scripts/schema.query.sql', 'utf8'),
  );
  await dataSource.destroy();
  return `-- The whole schema, printed by \`npm run generate\`: nothing reads it but people.\n\n${tables}`;
}

const MIGRATIONS = 'src/platform/database/migrations';
const HASHES = 'scripts/migrations.sha256'; // in the format of sha256sum
/** Hashes of the migrations that must not change, keyed by file name. */
const hashes = new Map();
for (const line of readFileSync(HASHES, 'utf8').split('\n')) {
  const [hash, name] = line.split('  ');
  if (name) hashes.set(name, hash);
}
for (const name of [...new Set([...hashes.keys(), ...readdirSync(MIGRATIONS)])].toSorted()) {
  const file = `${MIGRATIONS}/${name}`;
  const hash = existsSync(file)
    ? createHash('sha256').update(readFileSync(file)).digest('hex')
    : '';
  const known = hashes.get(name);
  if (known === hash) continue;
  if (known)
    fail(
      `${file} has landed, so it must stay as it is: undo the change, and make it in a new migration. (While it is on no ` +
        `other branch yet: remove its line from ${HASHES}, and run \`npm run generate\`.)`,
    );
  else if (isCheck) fail(`${HASHES} is stale: run \`npm run generate\``);
  else appendFileSync(HASHES, `${hash}  ${name}\n`);
}

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
