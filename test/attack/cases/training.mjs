// Attacks on training data, checkpoint files and gates.
import { createHash } from 'node:crypto';
import { aBatch, AT, many, PROJECT, times } from '../client.mjs';

const MIB = 1024 * 1024;
const PREVIEW = '/v1/preview';
const DATA = `${PREVIEW}/training-data?entity=acme&project=attack`;
const JSONL = { 'content-type': 'application/jsonl' };
const ROW = '{"messages":[{"role":"assistant","content":"x"}]}\n';

const upload = (it, body, compress) =>
  it.send(DATA, body, {
    headers: { ...JSONL, ...(compress && { 'content-encoding': compress }) },
    compress,
  });

async function aModel(it, name) {
  const body = {
    entity: 'acme',
    project: 'attack',
    name,
    base_model: `base of ${name}`,
    return_existing: true,
  };
  return JSON.parse((await it.send(`${PREVIEW}/models`, body)).text).id;
}

/** Makes a job that a trainer has started. Returns its id, and a function that sends requests with its lease. */
async function aHeldJob(it, model, url) {
  const { text } = await it.send(`${PREVIEW}/sft-training-jobs`, {
    model_id: model,
    training_data_url: url,
  });
  const job = JSON.parse(text).id;
  const claim = { worker_id: 'w', kinds: ['sft'] };
  const claimed = await it.send(`${PREVIEW}/trainer/claims`, claim, { as: 'trainer' });
  const headers = { 'x-lease-token': JSON.parse(claimed.text).lease_token };
  const speak = (path, body, more = {}) =>
    it.send(`${PREVIEW}/trainer/jobs/${job}/${path}`, body, {
      as: 'trainer',
      headers: { ...headers, ...more },
    });
  const begun = { seq: 0, type: 'training_started', data: { num_sequences: 1 } };
  await speak('events', { events: [begun] });
  return { job, speak };
}

export const cases = [
  {
    name: 'training data: a line of 100 MiB, deep and heavy lines, and a million rows',
    answers: [200, 400, 413, 'cut'],
    async attack(it) {
      const message = '{"role":"assistant","content":"x"}';
      const heavy = `{"messages":[${`${message},`.repeat(700_000)}${message}]}\n`;
      for (const [want, body, compress] of [
        [413, Buffer.alloc(100 * MIB, 'x')],
        [413, Buffer.alloc(200 * MIB, 'x'), 'gzip'],
        [413, Buffer.alloc(300 * MIB, ROW), 'gzip'],
        [400, `{"messages":${'['.repeat(5 * MIB)}\n`],
        [null, heavy],
        [200, ROW.repeat(1_000_000), 'gzip'],
      ]) {
        const { status, text } = await upload(it, body, compress);
        const isRefused = status === want || (want === null && [200, 413].includes(status));
        it.must(isRefused || status === 'cut', `was answered ${status} ${text.slice(0, 100)}`);
      }
    },
  },
  {
    name: 'training data: one of 8 MiB as 60 jobs at once',
    async attack(it) {
      const { text } = await upload(it, ROW.repeat(170_000), 'gzip');
      const { url } = JSON.parse(text);
      const model = await aModel(it, 'many');
      await many(60, 20, async (i) => {
        const body = { model_id: model, training_data_url: url, config: { batch_size: i + 1 } };
        await it.send(`${PREVIEW}/sft-training-jobs`, body);
      });
    },
  },
  {
    name: 'checkpoint files: names, parts and digests that are none, and one part many times',
    async attack(it) {
      const { text } = await upload(it, ROW);
      const { speak } = await aHeldJob(it, await aModel(it, 'files'), JSON.parse(text).url);
      const bytes = Buffer.alloc(2 * MIB, 'w');
      const file = createHash('sha256').update(bytes).digest('hex');
      const BYTES = { 'content-type': 'application/octet-stream' };
      for (const query of [
        `file=${file}&part=-1`,
        `file=${file}&part=10000`,
        `file=${file}&part=1e3`,
        'file=../../etc/passwd&part=0',
        `file=${file.toUpperCase()}&part=0`,
      ]) {
        const { status } = await speak(`parts?${query}`, bytes, BYTES);
        it.must(status === 400, `parts?${query} answered ${status}`);
      }
      await many(30, 10, () => speak(`parts?file=${file}&part=0`, bytes, BYTES));
      const complete = (files) => speak('complete', { metrics: {}, checkpoint: { files } });
      const entry = { name: 'w', size_bytes: bytes.length, sha256: file };
      for (const files of [
        [{ ...entry, name: '../w' }],
        [{ ...entry, name: '/w' }],
        [{ ...entry, name: 'a/./w' }],
        [entry, entry],
        [{ ...entry, size_bytes: 1 }],
        [{ ...entry, size_bytes: -1 }],
        times(1000, (i) => ({ ...entry, name: `w${i}`, size_bytes: i })),
      ]) {
        const { status } = await complete(files);
        it.must(status === 400, `${JSON.stringify(files).slice(0, 100)} answered ${status}`);
      }
      const { status } = await complete(times(1000, (i) => ({ ...entry, name: `w${i}` })));
      it.must(status === 200, `a whole manifest answered ${status}`);
    },
  },
  {
    name: 'gate: 4,000 rows with scores that are no numbers, eight at once',
    async attack(it) {
      const { text } = await upload(it, ROW);
      const model = await aModel(it, 'gated');
      const { speak } = await aHeldJob(it, model, JSON.parse(text).url);
      await speak('complete', { metrics: {}, checkpoint: { uri: 'file:///c' } });
      const scores = ['1', '0.5', '1e400', '-1e400', '"NaN"', '"Infinity"', '1e-400', 'true', '[]'];
      await many(8, 2, async (k) => {
        const step = k % 2;
        const ids = times(1000, (i) => `${step}-${k}-${i}`);
        const starts = ids.map((id, i) => ({
          id,
          trace_id: id,
          inputs: { model: `gated:step${step}`, messages: `${k >> 1}-${i}` },
          started_at: AT,
        }));
        await it.send('/call/upsert_batch', aBatch(starts));
        const items = ids.map(
          (id, i) =>
            `{"project_id":"${PROJECT}","svc_ref":"svc:///${PROJECT}/call/${id}","feedback_type":"s","payload":{"v":${scores[(i + step) % scores.length]}}}`,
        );
        await it.send('/feedback/batch/create', `{"batch":[${items.join(',')}]}`);
      });
      const gate = { score: { feedback: 's', path: 'v' }, confidence: 0.999 };
      const body = { project_id: PROJECT, model_id: model, step: 1, against_step: 0, gate };
      const answers = await Promise.all(times(8, () => it.send('/models/gate', body)));
      const [found] = answers.filter(({ status }) => status === 200);
      it.must(found, 'no gate was answered');
      const { rows_paired, statistics } = JSON.parse(found?.text ?? '{}');
      it.must(rows_paired > 800, `${rows_paired} rows were paired`);
      it.must(Number.isFinite(statistics?.p_value), 'there is no p-value');
      const heavy = { ...gate, pair_by: times(16, () => 'inputs.messages'), min_difference: -1e12 };
      await it.send('/models/promote', { ...body, against_step: undefined, gate: heavy });
    },
  },
];
