// Small requests about large stored data.
import { AT, PROJECT, times } from '../client.mjs';

const DEEP = 570;

export const cases = [
  {
    name: 'stored: 40 rows of a text of 30 MiB as one Parquet file',
    isQuick: true,
    async attack(it) {
      const row = { text: 'x'.repeat(30 * 1024 * 1024) };
      const { text } = await it.send('/table/create', {
        table: { project_id: PROJECT, rows: [row] },
      });
      const [digest] = JSON.parse(text).row_digests;
      const rows = times(40, () => digest);
      const table = await it.send('/table/create_from_digests', {
        project_id: PROJECT,
        row_digests: rows,
      });
      const body = {
        project_id: PROJECT,
        of: 'table',
        format: 'parquet',
        digest: JSON.parse(table.text).digest,
      };
      await it.send('/export', body);
    },
  },
  {
    name: 'stored: refs of 570 steps into an object of 20 MiB, and many that lead nowhere',
    isQuick: true,
    async attack(it) {
      const value = `${'{"a":'.repeat(DEEP)}[${'1,'.repeat(5_000_000)}1]${'}'.repeat(DEEP)}`;
      const { text } = await it.send(
        '/obj/create',
        `{"obj":{"project_id":"${PROJECT}","object_id":"deep","val":{"b":"${'x'.repeat(10_000_000)}","a":${value}}}}`,
      );
      const object = `svc:///${PROJECT}/object/deep:${JSON.parse(text).digest}`;
      const path = '/key/a'.repeat(DEEP);
      await it.send('/refs/read_batch', { refs: [`${object}${path}/key/a/index/0`] });
      await it.send('/refs/read_batch', {
        refs: times(it.options.isQuick ? 200 : 1000, (i) => `${object}/key/${i}${path}`),
      });
      await Promise.all(
        times(it.options.isQuick ? 2 : 4, () =>
          it.send('/refs/read_batch', { refs: times(20, () => `${object}${path}/key/a`) }),
        ),
      );
    },
  },
  {
    name: 'stored: a preview of a call with millions of prompt tokens and 128 choices',
    isQuick: true,
    async attack(it) {
      const recipe = {
        _class_name: 'Recipe',
        _bases: ['Object', 'BaseModel'],
        version: 1,
        select: { unit: 'trace', settle_s: 0 },
        reward: { sum: [{ feedback: 'score', path: 'value' }] },
        group: { by: ['attributes.task_id'], min: 1 },
      };
      const call = {
        project_id: PROJECT,
        id: 'tokens',
        trace_id: 'tokens',
        op_name: 'openai.chat.completions.create',
        started_at: AT,
        ended_at: AT,
        attributes: { task_id: 't' },
        inputs: { model: 'm', messages: [{ role: 'user', content: 'x' }] },
      };
      const choice = (index) => ({
        index,
        finish_reason: 'stop',
        token_ids: [index],
        message: { role: 'assistant', content: String(index) },
      });
      const tokens = `[${'1,'.repeat(3_900_000)}1]`;
      const output = `{"choices":${JSON.stringify(times(128, choice))},"prompt_token_ids":${tokens}}`;
      const text = `${JSON.stringify(call).slice(0, -1)},"output":${output},"summary":{}}`;
      await it.send(`/v2/${PROJECT}/calls/complete`, `{"batch":[${text}]}`);
      await it.send('/feedback/create', {
        project_id: PROJECT,
        svc_ref: `svc:///${PROJECT}/call/tokens`,
        feedback_type: 'score',
        payload: { value: 1 },
      });
      const [preview] = await Promise.all(
        times(4, () => it.send('/build/preview', { project_id: PROJECT, recipe })),
      );
      const { units, waiting } = JSON.parse(preview.text).counts ?? {};
      it.must(units > waiting, `the call is a unit: ${preview.text.slice(0, 300)}`);
    },
  },
  {
    name: 'stored: a build with a group of 56 MiB, four times at once as a Parquet file',
    isQuick: true,
    async attack(it) {
      const call = (i) => ({
        ...{ project_id: PROJECT, id: `part${i}`, trace_id: `part${i}`, summary: {} },
        op_name: 'openai.chat.completions.create',
        ...{ started_at: AT, ended_at: AT, attributes: { task_id: 'large' } },
        inputs: { model: 'm', messages: [{ role: 'user', content: 'y'.repeat(7_900_000) }] },
        output: { choices: [{ index: 0, message: { role: 'assistant', content: `${i}` } }] },
      });
      for (let i = 0; i < 7; i++) {
        await it.send(`/v2/${PROJECT}/calls/complete`, { batch: [call(i)] });
        await it.send('/feedback/create', {
          ...{ project_id: PROJECT, svc_ref: `svc:///${PROJECT}/call/part${i}` },
          ...{ feedback_type: 'score', payload: { value: i } },
        });
      }
      const val = {
        ...{ _class_name: 'Recipe', _bases: ['Object', 'BaseModel'], version: 1 },
        select: { unit: 'trace', settle_s: 0 },
        reward: { sum: [{ feedback: 'score', path: 'value' }] },
        group: { by: ['attributes.task_id'] },
      };
      const obj = { project_id: PROJECT, object_id: 'large', val };
      const { digest } = JSON.parse((await it.send('/obj/create', { obj })).text);
      const recipe_ref = `svc:///${PROJECT}/object/large:${digest}`;
      const built = await it.send('/build/create', {
        ...{ project_id: PROJECT, recipe_ref, mode: 'all', accept: ['logprobs_missing'] },
      });
      const { build_id, counts } = JSON.parse(built.text);
      it.must(counts?.trajectories === 7, `seven trajectories: ${built.text.slice(0, 300)}`);
      const body = { project_id: PROJECT, of: 'build', format: 'parquet', build_id };
      await Promise.all(times(4, () => it.send('/export', body)));
    },
  },
];
