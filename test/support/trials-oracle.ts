/** The members of a stored call that evaluations depend on. */
export interface StoredCall {
  id: string;
  op_name: string | null;
  parent_id: string | null;
  started_at: string;
  ended_at: string | null;
  deleted_at: string | null;
  inputs: any;
  output: any;
  usage: { prompt_tokens: number; completion_tokens: number }[] | null;
}

const micros = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ${column}`;
export const STORED_CALLS = `SELECT id, op_name, parent_id, ${micros('started_at')}, ${micros('ended_at')}, deleted_at::text,
  inputs, output, usage FROM calls WHERE project_id = $1`;

export interface OracleTrial {
  id: string;
  digest: string;
  scores: Record<string, unknown>;
  latency: number | null;
  tokens: number | null;
}

const isVisible = ({ op_name, deleted_at }: StoredCall) => op_name !== null && deleted_at === null;
const inOrder = (a: StoredCall, b: StoredCall) =>
  a.started_at < b.started_at ||
  (a.started_at === b.started_at && Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)) < 0)
    ? -1
    : 1;
const opName = (call: StoredCall) => /\/op\/([^:]*)/.exec(call.op_name!)?.[1] ?? call.op_name!;
const seconds = ({ started_at, ended_at }: StoredCall) =>
  ended_at === null || Date.parse(ended_at) < Date.parse(started_at)
    ? null
    : (Date.parse(ended_at) - Date.parse(started_at)) / 1000;

/** Computes the trials of a run from all calls, in the order of the calls. Examples must be refs to rows. */
export function trialsOf(calls: readonly StoredCall[], runId: string): OracleTrial[] {
  const below = (id: string) =>
    calls.filter((call) => isVisible(call) && call.parent_id === id).toSorted(inOrder);
  return below(runId)
    .filter((call) =>
      /Evaluation\.predict_and_score|Evaluation\.predictAndScore/.test(call.op_name!),
    )
    .map((trial) => {
      const given = trial.output?.scores;
      const scores =
        given && typeof given === 'object' && !Array.isArray(given) ? { ...given } : {};
      const late: Record<string, unknown> = {};
      let predict: StoredCall | undefined;
      for (const child of below(trial.id)) {
        const name = opName(child);
        if (name.includes('.score')) {
          const scorer = name.replace(/\.score$/, '');
          if (child.output !== null && !Object.hasOwn(scores, scorer)) late[scorer] = child.output;
        } else if (/predict|invoke/i.test(name)) predict ??= child;
      }
      const usage = predict?.usage ?? [];
      return {
        id: trial.id,
        digest: trial.inputs.example.split('/attr/rows/id/')[1],
        scores: { ...scores, ...late },
        latency: (predict && seconds(predict)) ?? trial.output?.model_latency ?? null,
        tokens:
          usage.length > 0
            ? usage.reduce((sum, one) => sum + one.prompt_tokens + one.completion_tokens, 0)
            : null,
      };
    });
}
