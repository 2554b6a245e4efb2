// A program of a user of the npm package `weave`. Its last line of output is JSON with the values that the client read.
import * as weave from 'weave';

const client = await weave.init('acme/demo');
const seen = {};

const double = weave.op(async function double(n) {
  return 2 * n;
});
const sum = weave.op(async function sum(a, b) {
  return (await double(a)) + (await double(b));
});
const fail = weave.op(async function fail() {
  await double(21);
  throw new Error('out of order');
});

const [result, call] = await sum.invoke(1, 2);
seen.result = result;
seen.sum = call.id;
await fail().catch((error) => (seen.error = error.message));

const rows = [
  { question: 'capital of France', expected: 'Paris', weight: 1.5 },
  { question: 'π to 2 places', expected: '3.14', weight: 2 },
];
const dataset = new weave.Dataset({ id: 'questions', rows });
const ref = await dataset.save();
seen.dataset = ref.uri();
seen.rows = [];
for await (const row of await client.get(ref)) seen.rows.push(row);

const answer = weave.op(async function answer({ datasetRow }) {
  return datasetRow.question.includes('France') ? 'Paris' : 'no idea';
});
const isRight = weave.op(function isRight({ modelOutput, datasetRow }) {
  return modelOutput === datasetRow.expected;
});
const evaluation = new weave.Evaluation({ id: 'quiz', dataset, scorers: [isRight] });
seen.evaluation = await evaluation.evaluate({ model: answer });

const log = new weave.EvaluationLogger({ name: 'by hand', model: { name: 'm' }, dataset: 'd' });
const prediction = await log.logPredictionAsync({ question: 'why' }, 'because');
await prediction.logScore('politeness', 0.5);
await prediction.finish();
await log.logSummary();

await client.waitForBatchProcessing();
await call.setDisplayName('Sum of doubles');
seen.calls = (await client.getCalls({ trace_ids: [call.trace_id] })).map(
  ({ id, parent_id, op_name, display_name, inputs, output }) => ({
    id,
    parent_id,
    op_name,
    display_name,
    inputs,
    output,
  }),
);
const nameOf = async ({ id }) => (await client.getCalls({ call_ids: [id] }))[0].display_name;
const [, other] = await weave
  .op(async function other() {}, { callDisplayName: () => 'of the start' })
  .invoke();
seen.names = [];
for (const name of ['new', '', 'again']) {
  await other.setDisplayName(name);
  await client.waitForBatchProcessing();
  seen.names.push(await nameOf(other));
}
console.log(JSON.stringify(seen));
