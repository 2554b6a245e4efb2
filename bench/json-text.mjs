/**
 * Measures the JSON text scanners and the digests of objects, and JSON.parse on the same text, in one process. An
 * argument names another folder of compiled files than dist.
 *
 *     npm run build && node bench/json-text.mjs [folder]
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const dist = pathToFileURL(`${resolve(process.argv[2] ?? 'dist')}/`);
const { hasOpaqueEscapes, skipValue } = await import(
  new URL('src/platform/json/json-grammar.js', dist).href
);
const { elementSpans, memberSpans } = await import(
  new URL('src/platform/json/json-text.js', dist).href
);
const { objectDigest } = await import(new URL('src/tracing/objects/digests/digest.js', dist).href);

const prose = 'The quick brown fox jumps over the lazy dog, and says "why"?\n'.repeat(60);
const chinese = '敏捷的棕色狐狸跳过了懒狗。'.repeat(200);
const message = (content) => ({ role: 'user', content, n: 17, ok: true });
const escapedToAscii = (text) =>
  text.replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

const payloads = {
  'chat, long strings': Array.from({ length: 2500 }, () => message(prose)),
  'chat, nested JSON': Array.from({ length: 2500 }, () =>
    message(
      JSON.stringify({ args: Array.from({ length: 60 }, (_, i) => ({ id: `${i}`, v: 'x y z' })) }),
    ),
  ),
  'chat, Chinese': Array.from({ length: 2500 }, () => message(chinese)),
  'short members': Array.from({ length: 60_000 }, (_, i) => ({
    id: `id-${i}`,
    score: i / 7,
    tags: ['a', 'bc'],
    at: { row: i, column: 3 },
  })),
  'logprobs, numbers': Array.from({ length: 400_000 }, (_, i) => -i / 12345.678),
};

/** The best of seven runs, in MB of UTF-16 units per second. */
function rate(text, run) {
  let best = Infinity;
  for (let i = 0; i < 7; i++) {
    const start = performance.now();
    run(text);
    best = Math.min(best, performance.now() - start);
  }
  return Math.round(text.length / best / 1000);
}

const rows = {};
const texts = Object.entries(payloads).map(([name, value]) => [name, JSON.stringify(value)]);
texts.push(['chat, Chinese as \\uXXXX', escapedToAscii(texts[2][1])]);
for (const [name, text] of texts) {
  rows[name] = {
    MB: Math.round(text.length / 1e6),
    'JSON.parse': rate(text, JSON.parse),
    skipValue: rate(text, (t) => skipValue(t, 0)),
    spans: rate(text, (t) => {
      for (const [at] of elementSpans(t, 0)) if (t[at] === '{') memberSpans(t, at);
    }),
    hasOpaqueEscapes: rate(text, hasOpaqueEscapes),
    objectDigest: rate(text, objectDigest),
  };
}
console.table(rows);
