// A program of a user of the npm package `weave` that compares two models. Its last line of output is JSON with the
// client's summaries.
import * as weave from 'weave';

const client = await weave.init('acme/npm-evaluations');
console.error = () => {}; // the model and the scorers fail on purpose

const rows = Array.from({ length: 5 }, (_, n) => ({ question: `${n} + ${n}`, expected: 2 * n }));
const dataset = new weave.Dataset({ id: 'sums', rows });
const right = weave.op(function right({ modelOutput, datasetRow }) {
  return modelOutput.sum === datasetRow.expected;
});
const distance = weave.op(function distance({ modelOutput, datasetRow }) {
  return datasetRow.expected === 4 ? null : Math.abs(modelOutput.sum - datasetRow.expected) / 3;
});
const judge = weave.op(async function judge({ modelOutput }) {
  if (modelOutput.sum === 6) throw new Error('no opinion');
  const isShort = modelOutput.sum < 10;
  return { mark: modelOutput.sum / 7, isShort, why: 'because', deep: { x: modelOutput.sum } };
});
const model = (name, add) =>
  weave.op(
    async ({ datasetRow }) => {
      if (datasetRow.question.startsWith('1 ')) throw new Error('out of order');
      return { sum: Number(datasetRow.question.split(' ')[0]) * 2 + add };
    },
    { name },
  );

const evaluation = new weave.Evaluation({
  id: 'exam',
  dataset,
  scorers: [right, distance, judge],
});
const seen = { evaluations: [] };
for (const [name, add, nTrials] of [
  ['exact', 0, 1],
  ['off', 3, 3],
])
  seen.evaluations.push({
    name: `Evaluation_${name}`,
    trials: rows.length * nTrials,
    summary: await evaluation.evaluate({ model: model(name, add), nTrials }),
  });

const log = new weave.EvaluationLogger({ name: 'by hand', model: 'm', dataset: 'd' });
for (const [n, { question }] of rows.entries()) {
  const prediction = await log.logPredictionAsync({ question }, n);
  await prediction.logScore('even', n % 2 === 0);
  await prediction.logScore('size', n / 4);
  await prediction.finish();
}
await log.logSummary();
await client.waitForBatchProcessing();
console.log(JSON.stringify(seen));
