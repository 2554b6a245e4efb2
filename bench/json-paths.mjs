// Prints the cost of several paths into one document of 30 MiB in PostgreSQL: each read alone, all together as in a
// query, and after a conversion of the document to `jsonb`.
//
//     npm run build && node bench/json-paths.mjs [--mib 30] [--paths 20]
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openEmbeddedPostgres } from '../dist/src/platform/postgres/embedded-postgres.js';
import { dataFolder, withSchema } from './support.mjs';

const { values } = parseArgs({
  options: { mib: { type: 'string', default: '30' }, paths: { type: 'string', default: '20' } },
});
const bytes = Number(values.mib) * 1024 * 1024;
const count = Number(values.paths);
const members = (text) => text.repeat(Math.floor(bytes / text.length));
const DOCUMENTS = {
  'one long text': `{"a":"${'x'.repeat(bytes)}"}`,
  'a list of numbers': `{"a":[${members('1,')}1]}`,
  'short members': `{${Array.from({ length: bytes / 12 }, (_, i) => `"k${i}":1`).join()},"a":1}`,
};
const names = Array.from({ length: count }, (_, i) => `b${i}`);
const WAYS = {
  'each by itself': `SELECT ${names.map((name) => `skein_text_at(document, false, '{${name}}', 2000000)`).join()} FROM documents`,
  together: `SELECT skein_texts_at(document, false, '${JSON.stringify(names.map((name) => [name]))}', 2000000) FROM documents`,
  'jsonb once': `SELECT ${names.map((name) => `d #>> '{${name}}'`).join()} FROM (SELECT document::jsonb AS d FROM documents OFFSET 0) j`,
};

const dataDir = dataFolder();
const postgres = await openEmbeddedPostgres({ dataDir });
await withSchema(postgres.url);
const rows = [];
for (const [document, text] of Object.entries(DOCUMENTS))
  for (const [way, statement] of Object.entries(WAYS)) {
    const client = new pg.Client(postgres.url); // its peak of memory belongs to one statement
    await client.connect();
    await client.query('CREATE TEMP TABLE documents (document json)');
    await client.query('INSERT INTO documents VALUES ($1)', [text]);
    const written = async () =>
      Number(
        (
          await client.query(
            'SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()',
          )
        ).rows[0].temp_bytes,
      );
    await client.query('SELECT pg_stat_clear_snapshot()');
    const before = await written();
    const began = performance.now();
    const failure = await client.query(statement).then(
      () => '',
      ({ code }) => code,
    );
    const ms = Math.round(performance.now() - began);
    const {
      rows: [memory],
    } = await client.query(
      `SELECT pg_read_file('/proc/' || pg_backend_pid() || '/status') AS status`,
    );
    await client.query('SELECT pg_stat_force_next_flush()');
    const temp = (await written()) - before;
    const peak = Number(/VmHWM:\s+(\d+)/.exec(memory.status)[1]) / 1024;
    rows.push({
      document,
      way,
      ms,
      failure,
      'peak MiB': Math.round(peak),
      'MiB written': Math.round(temp / 1048576),
    });
    await client.end();
  }
console.table(rows);
await postgres.stop();
rmSync(dataDir, { recursive: true, force: true });
process.exit();
