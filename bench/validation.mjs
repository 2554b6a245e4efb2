// Compares the cost of validating one call start: our own pass over class-validator's metadata, and Nest's way (an
// instance of class-transformer, then class-validator).
//
//     npm run build && node bench/validation.mjs
import { cpus } from 'node:os';
import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { CallStartBodyDto } from '../dist/src/tracing/calls/calls.dto.js';
import { validate } from '../dist/src/platform/http/validation.js';

const start = {
  project_id: 'acme/demo',
  id: '0192f3c1-0000-7000-8000-000000000000',
  op_name: 'svc:///acme/demo/op/run:abc',
  started_at: '2026-01-31T12:00:00.123456Z',
  trace_id: '0192f3c1-0000-7000-8000-000000000001',
  parent_id: '0192f3c1-0000-7000-8000-000000000002',
  thread_id: 'thread',
  turn_id: 'turn',
  display_name: 'run',
  svc_run_id: 'run',
  svc_run_step: 1,
  attributes: { model: 'gpt' },
  inputs: {
    messages: Array.from({ length: 6 }, (_, i) => ({
      role: 'user',
      content: `text ${i} `.repeat(30),
    })),
  },
};
const text = JSON.stringify({ start });
const ROUNDS = 20_000;

const ways = {
  'JSON.parse alone': () => JSON.parse(text),
  'validate (ours)': () => validate(CallStartBodyDto, JSON.parse(text)),
  'plainToInstance + validateSync': () =>
    validateSync(plainToInstance(CallStartBodyDto, JSON.parse(text))),
};
console.log(
  `Node ${process.version}, ${cpus()[0].model}, body of ${text.length} bytes, ${ROUNDS} rounds, best of 5`,
);
for (const [name, run] of Object.entries(ways)) {
  let best = Infinity;
  for (let pass = 0; pass < 5; pass++) {
    const began = performance.now();
    for (let i = 0; i < ROUNDS; i++) run();
    best = Math.min(best, performance.now() - began);
  }
  console.log(name.padEnd(34), `${((best / ROUNDS) * 1000).toFixed(2).padStart(8)} µs`);
}
