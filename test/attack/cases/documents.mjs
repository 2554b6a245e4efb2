// Small requests about calls whose documents have many MiB.
import { AT, PROJECT, times } from '../client.mjs';

const MIB = 1024 * 1024;

/** Stores ended calls. Each has a document with this text. */
const storeCalls = (it, ids, name, text) =>
  Promise.all(
    ids.map((id) => {
      const call = { project_id: PROJECT, id, trace_id: id, op_name: 'large', started_at: AT };
      const documents = {
        inputs: '{}',
        output: '{}',
        summary: '{}',
        attributes: '{}',
        [name]: text,
      };
      const texts = Object.entries(documents).map(([key, value]) => `,"${key}":${value}`);
      const one = `${JSON.stringify({ ...call, ended_at: AT }).slice(0, -1)}${texts.join('')}}`;
      return it.send(`/v2/${PROJECT}/calls/complete`, `{"batch":[${one}]}`);
    }),
  );

const observed = (id, more) => ({
  id: `${id} ${Math.random()}`,
  type: 'generation-update',
  timestamp: AT,
  body: { id, ...more },
});
const field = (name) => ({ $getField: name });

export const cases = [
  {
    name: 'documents: 12 requests of Langfuse that name calls of 30 MiB',
    answers: [200, 207, 413, 503, 'timeout'], // they run one after the other, so only the sender waits
    async attack(it) {
      const ids = times(20, (i) => `large-${i}`);
      const text = `{"a":"${'x'.repeat(30 * MIB)}"}`;
      for (const id of ids) await storeCalls(it, [id], 'inputs', text);
      const batch = ids.map((id) => observed(id, { level: 'DEFAULT' }));
      await Promise.all(
        times(12, () =>
          it.send('/api/public/ingestion', { batch }, { headers: { project_id: PROJECT } }),
        ),
      );
    },
  },
  {
    name: 'documents: 700 events of Langfuse about a call with a summary of 24 MiB',
    isQuick: true,
    answers: [200, 207],
    async attack(it) {
      await storeCalls(it, ['summed'], 'summary', `{"a":"${String.raw`\n`.repeat(12 * MIB)}"}`);
      const batch = times(700, (i) => observed('summed', { model: `m${i % 2}` }));
      const before = it.service.cpuSeconds();
      await it.send('/api/public/ingestion', { batch }, { headers: { project_id: PROJECT } });
      const used = it.service.cpuSeconds() - before;
      it.must(used < 15, `${used.toFixed(0)} s of CPU for one request`);
    },
  },
  {
    name: 'documents: queries with 60 paths into calls of 30 MiB',
    isQuick: true,
    async attack(it) {
      const text = `{"a":"${'x'.repeat(30 * MIB)}"}`;
      await storeCalls(it, ['paths'], 'inputs', text);
      const conditions = times(60, (i) => ({ $eq: [field(`inputs.b${i}`), { $literal: 'y' }] }));
      const query = { $expr: { $or: conditions } };
      await Promise.all(
        times(it.options.isQuick ? 4 : 12, () =>
          it.send('/calls/query_stats', { project_id: PROJECT, query }, { timeoutMs: 80_000 }),
        ),
      );
      await it.send('/calls/query_stats', { project_id: PROJECT });
    },
  },
  {
    name: 'documents: queries with 60 paths that each lead to 20 MiB',
    async attack(it) {
      const text = `${'{"a":'.repeat(50)}"${'x'.repeat(20 * MIB)}"${'}'.repeat(50)}`;
      await storeCalls(it, ['deep'], 'output', text);
      const conditions = times(50, (i) => ({
        $contains: {
          input: field(`output${'.a'.repeat(i + 1)}`),
          substr: { $literal: 'Y' },
          case_insensitive: true,
        },
      }));
      const query = { $expr: { $or: conditions } };
      await Promise.all(
        times(6, () =>
          it.send('/calls/query_stats', { project_id: PROJECT, query }, { timeoutMs: 80_000 }),
        ),
      );
      const sort_by = times(30, (i) => ({
        field: `output${'.a'.repeat(i + 1)}`,
        direction: 'asc',
      }));
      await Promise.all(
        times(6, () =>
          it.send('/calls/stream_query', { project_id: PROJECT, sort_by, columns: ['id'] }),
        ),
      );
    },
  },
];
