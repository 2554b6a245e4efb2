import { WIRE } from './wire.js';
import type { TestApp } from './app.js';

/** A trial to record: its example, the output of the model, and scores keyed by scorer. */
export interface RunTrial {
  example: unknown;
  output?: unknown;
  scores?: Record<string, unknown>;
  /** Scores that exist only as calls below the trial, as when a row is opened again. */
  late?: Record<string, unknown>;
  latency_ms?: number;
  usage?: object;
  judge_usage?: object;
}

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

/** Records an evaluation through calls only, as the Python SDK does. */
export async function aRun(
  app: TestApp,
  project_id: string,
  id: string,
  trials: RunTrial[],
): Promise<void> {
  const model = `${WIRE.scheme}:///${project_id}/object/Model:m1`;
  const trace_id = `trace of ${id}`;
  const self = `${WIRE.scheme}:///${project_id}/object/Eval:e1`;
  const op = (name: string) => `${WIRE.scheme}:///${project_id}/op/${name}:o1`;
  const call = (callId: string, op_name: string, parent_id: string | null, more: object) => ({
    project_id,
    id: callId,
    op_name,
    trace_id,
    parent_id,
    started_at: at(0),
    ended_at: at(1),
    attributes: { _weave_eval_meta: { declarative: true } },
    ...more,
  });
  const batch: object[] = [
    call(id, op('Evaluation.evaluate'), null, {
      display_name: `name of ${id}`,
      inputs: { self, model },
      output: {},
    }),
  ];
  for (const [i, trial] of trials.entries()) {
    const { example, output = null, scores = {}, late = {}, latency_ms = 100, usage } = trial;
    const trialId = `${id}-${i}`;
    const times = { started_at: at(i * 10), ended_at: at(i * 10 + latency_ms) };
    batch.push(
      call(trialId, op('Evaluation.predict_and_score'), id, {
        inputs: { self, model, example },
        output: { output, scores, model_latency: latency_ms / 1000 },
        ...times,
      }),
      call(`${trialId}-predict`, op('Model.predict'), trialId, {
        inputs: { self: model },
        output,
        ...(usage && { summary: { usage } }),
        ...times,
      }),
    );
    for (const [name, value] of Object.entries({ ...scores, ...late }))
      batch.push(
        call(`${trialId}-${name}`, op(`${name}.score`), trialId, {
          inputs: { output },
          output: value,
          ...(trial.judge_usage && { summary: { usage: trial.judge_usage } }),
        }),
      );
  }
  for (let i = 0; i < batch.length; i += 5000) {
    const answer = await app.post(`/v2/${project_id}/calls/complete`, {
      batch: batch.slice(i, i + 5000),
    });
    if (answer.status !== 200) throw new Error(answer.text);
  }
}
