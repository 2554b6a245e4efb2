/**
 * Measures the search for what calls say, over HTTP: words without a hit, with one, with 10,000, phrases, Chinese, and
 * parts of words. Starts an embedded PostgreSQL with durable settings and the service.
 *
 *     npm run build && node bench/search.mjs [calls=1000000]
 *     node bench/search.mjs 100000 --designs
 *
 * The calls have 1.4 KB each: sentences out of the README files in node_modules, one in twenty calls in Chinese. With
 * `--designs` it compares the index with three others on the same calls: GIN over hashed words, `pg_trgm`, and
 * signatures of 4,096 bits.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { from as copyFrom } from 'pg-copy-streams';
import { callsWith, encodeSegment } from '../dist/src/tracing/calls/texts/text-segment.js';
import { gramsOf } from '../dist/src/tracing/calls/texts/grams.js';
import { serviceAndDatabase } from './support.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { designs: { type: 'boolean', default: false } },
});
const CALLS = Number(positionals[0] ?? 1e6);
const PROJECT = 'acme/bench';
const HITS = Math.min(10_000, CALLS / 10);
const START = Date.UTC(2026, 0, 1);
const STEP_MS = (30 * 86_400_000) / CALLS;
const COPIED = 20_000;
const PARTS = 10;
const ROUNDS = 20;

const FILES = readdirSync('node_modules/', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('README.md'))
  .slice(0, 3000)
  .map((name) => `node_modules/${name}`);
const SENTENCES = FILES.flatMap((file) =>
  readFileSync(file, 'utf8')
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .split(/(?<=[.!?])\s+/)
    .filter((sentence) => sentence.length > 30 && sentence.length < 300),
);
/** Sentences that the compiler of TypeScript says in Chinese. */
const CHINESE = Object.values(
  JSON.parse(
    readFileSync('node_modules/typescript/lib/zh-cn/diagnosticMessages.generated.json', 'utf8'),
  ),
).filter((sentence) => sentence.length > 15);
const pick = (list) => list[randomInt(list.length)];
const signs = [...new Set(CHINESE.join(''))].filter((sign) => sign > '\u4e00');

/** A word that no sentence has. */
const rareWord = () =>
  Array.from({ length: 3 }, () =>
    pick(['qu', 'vex', 'zor', 'mib', 'jaf', 'wuk', 'xil', 'pry']),
  ).join('') + randomInt(1000);
const rare = Array.from({ length: ROUNDS }, rareWord);
const rareAt = new Map(rare.map((word) => [randomInt(CALLS), word]));
const OFTEN = 'hyperquibble';
const oftenEvery = Math.floor(CALLS / HITS);
const RARE_PHRASE = 'the invoice was paid twice';

function textOf(n) {
  const sentences = [];
  const among = n % 20 === 3 ? CHINESE : SENTENCES;
  for (let length = 0; length < (among === CHINESE ? 370 : 1100); length += sentences.at(-1).length)
    sentences.push(pick(among));
  if (n % oftenEvery === 0) sentences.push(OFTEN);
  if (rareAt.has(n)) sentences.push(rareAt.get(n), RARE_PHRASE, '退款政策已经更新');
  return sentences;
}

function rowOf(n) {
  const id = randomUUID();
  const sentences = textOf(n);
  const half = Math.ceil(sentences.length / 2);
  const inputs = {
    model: 'gpt-4o',
    messages: [{ role: 'user', content: sentences.slice(0, half).join(' ') }],
  };
  const output = {
    choices: [{ message: { role: 'assistant', content: sentences.slice(half).join('\n') } }],
  };
  const at = new Date(START + n * STEP_MS).toISOString();
  const summary = {
    usage: { 'gpt-4o': { prompt_tokens: randomInt(1000), completion_tokens: randomInt(500) } },
  };
  const columns = [
    PROJECT,
    id,
    `op${n % 7}`,
    randomUUID(),
    at,
    at,
    '{}',
    inputs,
    output,
    summary,
    'f',
  ];
  return columns
    .map((value) =>
      (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('\\', '\\\\'),
    )
    .join('\t');
}

const { url, client, headers, close } = await serviceAndDatabase();
const COLUMNS =
  'project_id, id, op_name, trace_id, started_at, ended_at, attributes, inputs, output, summary, has_unread_usage';
const one = async (text, values) => Object.values((await client.query(text, values)).rows[0])[0];
const waiting = () =>
  one('SELECT coalesce(sum(cardinality(call_ids)), 0)::int FROM call_text_marks');
let [storing, indexing] = [0, 0];
/** Calls come in parts, with a vacuum after each, as over some days. */
for (let part = 0; part < PARTS; part++) {
  const started = performance.now();
  const end = (CALLS * (part + 1)) / PARTS;
  for (let n = (CALLS * part) / PARTS; n < end; n += COPIED) {
    const rows = Array.from({ length: Math.min(COPIED, end - n) }, (_, i) => `${rowOf(n + i)}\n`);
    await pipeline(
      Readable.from([rows.join('')]),
      client.query(copyFrom(`COPY calls (${COLUMNS}) FROM STDIN`)),
    );
  }
  const stored = performance.now();
  while ((await waiting()) > 0) await sleep(200);
  storing += stored - started;
  indexing += performance.now() - stored;
  await client.query('VACUUM call_text_marks, call_text_segments, call_text_parts, call_text_ids');
}
const seconds = (ms) => Math.round(ms / 1000);
console.log(`${CALLS} calls stored in ${seconds(storing)} s, indexed ${seconds(indexing)} s later`);
await client.query('VACUUM');
await client.query('CHECKPOINT');

const documents = Number(
  await one(
    'SELECT sum(octet_length(inputs::text) + octet_length(output::text) + octet_length(summary::text)) FROM calls',
  ),
);
const size = async (...tables) => {
  let bytes = 0;
  for (const table of tables)
    bytes += Number(await one('SELECT pg_total_relation_size($1)', [table]));
  return bytes;
};
const share = (bytes) => `${((100 * bytes) / documents).toFixed(1)} %`;
const index = await size('call_text_parts', 'call_text_ids', 'call_text_segments');
console.log(
  `documents ${Math.round(documents / CALLS)} bytes a call, the index ${share(index)} of them`,
);

const says = (substr) => ({
  $or: ['inputs', 'output'].map((field) => ({
    $contains: {
      input: { $getField: field },
      substr: { $literal: substr },
      case_insensitive: true,
    },
  })),
});
async function search(substr) {
  const begun = performance.now();
  const response = await fetch(`${url}/calls/stream_query`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      project_id: PROJECT,
      query: { $expr: says(substr) },
      sort_by: [{ field: 'started_at', direction: 'desc' }],
      limit: 50,
    }),
  });
  const text = await response.text();
  return { ms: performance.now() - begun, hits: text.split('\n').filter(Boolean).length };
}

const words = [...new Set(SENTENCES.join(' ').match(/[A-Za-z]{6,}/g))];
const KINDS = {
  'a word, no hit': rareWord,
  'a word, one hit': (i) => rare[i],
  'a word, 10,000 hits': () => OFTEN,
  'a phrase, no hit': () => `${pick(words)} ${pick(words)} ${pick(words)}`,
  'a phrase, 20 hits': () => RARE_PHRASE,
  'Chinese, 20 hits': () => pick(['退款政策', '政策已经更新']),
  'Chinese, four signs at random': () => pick(signs) + pick(signs) + pick(signs) + pick(signs),
  'part of a word, no hit': () => rareWord().slice(1, 7),
  'part of a word, one hit': (i) => rare[i].slice(1, -1),
  'part of a word, 10,000 hits': () => 'perquibb',
  'a frequent word': () => pick(['function', 'options', 'return']),
};
console.log(
  `| ${CALLS} calls, first page of 50 | p50 ms | p95 ms | hits of the page |\n|---|--:|--:|--:|`,
);
for (const [kind, needle] of Object.entries(KINDS)) {
  const results = [];
  for (let i = 0; i < ROUNDS; i++) results.push(await search(needle(i)));
  const times = results.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const hits = results.map((result) => result.hits);
  console.log(
    `| ${kind} | ${times[ROUNDS / 2].toFixed(1)} | ${times[Math.ceil(0.95 * ROUNDS) - 1].toFixed(1)} | ${Math.min(...hits)} to ${Math.max(...hits)} |`,
  );
}
if (options.designs) await compareDesigns();
await close();

/** Builds the other designs over the same texts, and prints what each costs and how many calls it cannot rule out. */
async function compareDesigns() {
  const { rows } = await client.query(
    `SELECT id, concat_ws(E'\\n', inputs::text, output::text, summary::text) AS documents FROM calls ORDER BY started_at`,
  );
  const calls = rows.map(({ documents: said }) => ({ names: '', documents: said }));
  const needles = Object.entries(KINDS).filter(([kind]) => kind.includes('no hit'));
  const wanted = needles.flatMap(([, needle]) =>
    Array.from({ length: ROUNDS }, (_, i) => needle(i)),
  );
  const report = [];
  const timed = async (name, build) => {
    const before = process.cpuUsage();
    const begun = performance.now();
    const result = await build();
    const { user, system } = process.cpuUsage(before);
    report.push([
      name,
      Math.round(((performance.now() - begun) * 1000) / CALLS),
      Math.round((user + system) / CALLS),
      ...result,
    ]);
  };
  await timed('segments of grams', async () => {
    let [bytes, candidates] = [0, 0];
    for (let i = 0; i < calls.length; i += 2500) {
      const { bits, parts } = encodeSegment(calls.slice(i, i + 2500));
      const byNumber = new Map(parts.map((part) => [part.part, part.bytes]));
      bytes += parts.reduce((sum, part) => sum + part.bytes.length, 0);
      for (const needle of wanted) candidates += callsWith(gramsOf(needle), bits, byNumber).length;
    }
    return [share(bytes), Math.round(candidates / wanted.length)];
  });
  await timed('signatures of 4,096 bits', async () => {
    const signatures = calls.map(({ documents: said }) => {
      const bits = new Uint8Array(512);
      for (const gram of gramsOf(said)) bits[(gram & 4095) >> 3] |= 1 << (gram & 7);
      return bits;
    });
    let candidates = 0;
    for (const needle of wanted) {
      const grams = gramsOf(needle).map((gram) => gram & 4095);
      candidates += signatures.filter((bits) =>
        grams.every((gram) => (bits[gram >> 3] >> (gram & 7)) & 1),
      ).length;
    }
    return [share(512 * CALLS), Math.round(candidates / wanted.length)];
  });
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_trgm');
  const said = `lower(inputs::text || output::text || summary::text)`;
  for (const [name, build, limit] of [
    [
      'GIN over hashed words',
      `CREATE TABLE other AS SELECT id, ARRAY(SELECT DISTINCT hashtext(m[1]) FROM regexp_matches(${said}, '(\\w+)', 'g') m) AS words FROM calls;
       CREATE INDEX other_idx ON other USING gin (words)`,
      'finds whole words only',
    ],
    [
      'pg_trgm',
      `CREATE TABLE other AS SELECT id, ${said} AS said FROM calls; CREATE INDEX other_idx ON other USING gin (said gin_trgm_ops)`,
      'no text with escapes; no two signs of Chinese',
    ],
  ])
    await timed(name, async () => {
      await client.query(build);
      const sizes = `${share(await size('other'))}, the index alone ${share(await size('other_idx'))}`;
      await client.query('DROP TABLE other');
      return [sizes, limit];
    });
  console.log(
    '| design | µs a call | of it Node | size | calls left for a needle without a hit |\n|---|--:|--:|---|---|',
  );
  for (const line of report) console.log(`| ${line.join(' | ')} |`);
}
