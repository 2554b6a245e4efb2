// Measures the speed and the memory of `npm run import` with files of 20 and 200 MB of each format. Starts a service of
// its own.
//
//     npm run build && node bench/import.mjs [langfuse|phoenix|otlp-json …]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newSecret } from '../dist/src/platform/auth/keys/secret.js';
import { dataFolder, started } from './support.mjs';

const MB = 1e6;
const key = newSecret();
const dataDir = dataFolder();
const folder = mkdtempSync(join(tmpdir(), 'skein-import-'));
const env = { PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_API_KEY: key };
const service = await started('../dist/src/main.js', env);

const hex = (n, length) => n.toString(16).padStart(length, '0');
const text = 'What a model reads and says. '.repeat(30);
const at = (n) => new Date(1.77e12 + n * 10).toISOString();
/** Formats to measure; all when none is named. */
const named = process.argv.slice(2);
const FORMATS = {
  langfuse: (n) => ({
    trace: { id: `t${n}`, name: 'answer', timestamp: at(n), sessionId: `s${n % 100}`, input: text },
    observations: [1, 2].map((i) => ({
      id: `o${n}-${i}`,
      type: 'GENERATION',
      startTime: at(n),
      endTime: at(n + i),
      input: [{ role: 'user', content: text }],
      usageDetails: { input: 20, output: 8 },
    })),
  }),
  phoenix: (n) => ({
    name: 'llm',
    context: { trace_id: hex(n + 1, 32), span_id: hex(n + 1, 16) },
    span_kind: 'LLM',
    start_time: at(n),
    end_time: at(n + 1),
    attributes: { 'input.value': text, 'llm.token_count.prompt': 20 },
  }),
  'otlp-json': (n) => ({
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: [1, 2, 3].map((i) => ({
              traceId: hex(n + 1, 32),
              spanId: hex(4 * n + i, 16),
              name: 'llm',
              startTimeUnixNano: `${1_770_000_000_000_000_000n + BigInt(n)}`,
              attributes: [{ key: 'input.value', value: { stringValue: text } }],
            })),
          },
        ],
      },
    ],
  }),
};

async function fileOf(format, bytes) {
  const path = join(folder, `${format}-${bytes / MB}.jsonl`);
  const file = createWriteStream(path);
  for (let n = 0; file.bytesWritten + file.writableLength < bytes; n++)
    if (!file.write(`${JSON.stringify(FORMATS[format](n))}\n`)) await once(file, 'drain');
  file.end();
  await once(file, 'finish');
  return path;
}

async function run(format, file) {
  const args = [
    'dist/src/server/commands/import.cli.js',
    format,
    file,
    '--project',
    `acme/${format}`,
  ];
  const child = spawn(process.execPath, [...args, '--url', service.url], {
    env: { ...process.env, SKEIN_API_KEY: key },
    stdio: ['ignore', 'inherit', 'ignore'],
  });
  let peak = 0;
  const watching = setInterval(() => {
    try {
      peak = Number(
        /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? peak,
      );
    } catch {
      // the process has ended
    }
  }, 50);
  const began = performance.now();
  const [code] = await once(child, 'exit');
  clearInterval(watching);
  if (code !== 0) throw new Error(`${format}: exit code ${code}`);
  const seconds = (performance.now() - began) / 1000;
  const size = statSync(file).size / MB;
  console.log(
    `| ${format} | ${size.toFixed(0)} | ${seconds.toFixed(1)} | ${(size / seconds).toFixed(1)} | ${(peak / 1024).toFixed(0)} |`,
  );
}

try {
  console.log('| format | MB | s | MB/s | peak of the command, MiB |\n|---|--:|--:|--:|--:|');
  for (const format of named.length > 0 ? named : Object.keys(FORMATS))
    for (const bytes of [20 * MB, 200 * MB]) await run(format, await fileOf(format, bytes));
} finally {
  service.child.kill('SIGTERM');
  await once(service.child, 'exit');
  rmSync(folder, { recursive: true });
  rmSync(dataDir, { recursive: true });
}
