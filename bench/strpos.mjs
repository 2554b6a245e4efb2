/**
 * Measures one search in a text that is made to be slow: `strpos` and a regular expression by the length of the
 * pattern, `translate` by its number of letters, and how far both searches exceed a statement_timeout. Stores nothing.
 *
 *     DATABASE_URL=postgres://… node bench/strpos.mjs
 */
import pg from 'pg';

const MIB = 1024 * 1024;
const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();

async function milliseconds(text, values) {
  const start = performance.now();
  const failed = await client.query(text, values).then(
    () => '',
    ({ message }) => ` (${message})`,
  );
  return `${Math.round(performance.now() - start)} ms${failed}`;
}
const needle = (length) => `b${'a'.repeat(length - 1)}`;
const letters = (count) =>
  String.fromCodePoint(...Array.from({ length: count }, (_, i) => 0x400 + i));
const forms = { strpos: 'strpos($1, $2) > 0', '~ ***=': `$1 COLLATE "C" ~ ('***=' || $2)` };
const search = (form, bytes, length) =>
  milliseconds(`SELECT ${forms[form]}`, ['a'.repeat(bytes), needle(length)]);

for (const length of [64, 1000, 4096])
  for (const form in forms)
    console.log(`${form}, 1 MiB, ${length} bytes:`, await search(form, MIB, length));
for (const count of [1, 64, 1400])
  console.log(
    `translate, 1 MiB, ${count} letters:`,
    await milliseconds('SELECT length(translate($1, $2, $2))', ['a'.repeat(MIB), letters(count)]),
  );
await client.query('SET statement_timeout = 500');
for (const form in forms)
  console.log(`${form}, 8 MiB, 4096 bytes, at most 500 ms:`, await search(form, 8 * MIB, 4096));
await client.end();
