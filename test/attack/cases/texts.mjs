// Texts that the index of texts must cut into grams behind the writes.
import { setTimeout as pause } from 'node:timers/promises';
import { AT, PROJECT, times } from '../client.mjs';

const MIB = 1024 * 1024;

/** Stores ended calls by one compressed request. */
const storeCalls = (it, project, ids, more) =>
  it.send(
    `/v2/${project}/calls/complete`,
    {
      batch: ids.map((id) => ({
        ...{ project_id: project, id, trace_id: id, op_name: 'large' },
        ...{ started_at: AT, ended_at: AT, attributes: {}, inputs: {}, output: null, summary: {} },
        ...more,
      })),
    },
    { compress: 'gzip' },
  );

/** Returns a text whose grams nearly all differ. */
function manyGrams(length) {
  let [text, state] = ['', 1];
  while (text.length < length) {
    state = (state * 48_271) % 2_147_483_647;
    text += state.toString(36);
  }
  return text;
}

const find = (it, project, text, as) =>
  it.send(
    '/calls/stream_query',
    {
      project_id: project,
      query: {
        $expr: { $contains: { input: { $getField: 'exception' }, substr: { $literal: text } } },
      },
      columns: ['id'],
    },
    { as },
  );

export const cases = [
  {
    name: 'texts: 900 exceptions of a mebibyte, while the index is busy',
    isQuick: true,
    deadlineMs: 240_000,
    async attack(it) {
      const inputs = { text: manyGrams(7.9 * MIB) };
      for (let i = 0; i < 12; i++) await storeCalls(it, PROJECT, [`busy-${i}`], { inputs });
      const exception = 'x'.repeat(MIB - 10);
      for (let i = 0; i < 30; i++)
        await storeCalls(
          it,
          PROJECT,
          times(30, (j) => `failed-${i}-${j}`),
          { exception },
        );
      await storeCalls(it, PROJECT, ['last'], { exception: 'a needle' });
      await pause(10_000); // the index works behind the writes
      const { text } = await find(it, PROJECT, 'a needle');
      it.must(text.startsWith('{"id":"last"'), `the call is found: ${text.slice(0, 200)}`);
    },
  },
];
