import fc from 'fast-check';
import pg from 'pg';
import { KeptTrialsRefresher } from '../../src/tracing/evaluations/kept-trials/kept-trials.refresher.js';
import { scanQuery } from '../../src/tracing/evaluations/trial-scan.query.js';
import { scoreText } from '../../src/tracing/evaluations/score-texts.js';
import { type Trial, TrialReader } from '../../src/tracing/evaluations/trials.js';
import { BodyBudget } from '../../src/platform/http/body-budget.js';
import { DocumentReader } from '../../src/platform/http/document-reader.js';
import { useApp } from '../support/app.js';
import { STORED_CALLS, type StoredCall, trialsOf } from '../support/trials-oracle.js';

/** Few ids and times, so that collisions are likely: repeated starts, moved trials, ties, children before parents. */
const RUNS = ['r0', 'r1'];
const TRIALS = Array.from({ length: 6 }, (_, i) => `t${i}`);
const CHILDREN = Array.from({ length: 10 }, (_, i) => `c${i}`);
const instant = fc
  .constantFrom(0, 1, 1000, 60_000)
  .map((ms) => new Date(Date.UTC(2026, 0, 5) + ms).toISOString());
const score = fc.constantFrom<unknown[]>(
  true,
  false,
  0.5,
  -2,
  'x',
  null,
  [1],
  { a: 1, b: 'y' },
  {},
);
const scores = fc.oneof(
  fc.dictionary(fc.constantFrom('right', 'tone'), score, { maxKeys: 2 }),
  fc.constantFrom(null, 'abc', [1]),
);
const op = (project: string, name: string) => `svc:///${project}/op/${name}:1`;
const row = (project: string, digest: string) =>
  `svc:///${project}/object/Data:1/attr/rows/id/${digest}`;

type Item = (project: string) => { mode: 'start' | 'end'; call: object };
const start = (
  ids: readonly string[],
  parents: readonly (string | null)[],
  ops: readonly string[],
): fc.Arbitrary<Item> =>
  fc
    .record({
      id: fc.constantFrom(...ids),
      parent_id: fc.constantFrom(...parents),
      name: fc.constantFrom(...ops),
      digest: fc.constantFrom('a', 'b', 'c'),
      started_at: instant,
    })
    .map(({ name, digest, ...call }) => (project) => ({
      mode: 'start',
      call: {
        ...call,
        trace_id: 'trace',
        op_name: op(project, name),
        inputs: { example: row(project, digest) },
      },
    }));
const end = (ids: readonly string[], output: fc.Arbitrary<unknown>): fc.Arbitrary<Item> =>
  fc
    .record({
      id: fc.constantFrom(...ids),
      ended_at: instant,
      output,
      summary: fc.constantFrom({}, { usage: { m: { prompt_tokens: 3, completion_tokens: 4 } } }),
    })
    .map((call) => () => ({ mode: 'end', call }));
const item = fc.oneof(
  { weight: 1, arbitrary: start(RUNS, [null], ['Evaluation.evaluate']) },
  { weight: 2, arbitrary: end(RUNS, fc.constant({})) },
  {
    weight: 6,
    arbitrary: start(
      TRIALS,
      [...RUNS, ...RUNS, 't0', 'nowhere'],
      [
        'Evaluation.predict_and_score',
        'Evaluation.predictAndScore',
        'Evaluation.predict_and_score',
        'other',
      ],
    ),
  },
  {
    weight: 4,
    arbitrary: end(TRIALS, fc.record({ scores, model_latency: fc.constantFrom(null, 1.5) })),
  },
  {
    weight: 6,
    arbitrary: start(CHILDREN, TRIALS, ['Model.predict', 'right.score', 'tone.score', 'x']),
  },
  { weight: 5, arbitrary: end(CHILDREN, score) },
);
const anyId = fc.constantFrom(...RUNS, ...TRIALS, ...TRIALS, ...CHILDREN, ...CHILDREN);
const someIds = fc.uniqueArray(anyId, { minLength: 1, maxLength: 3 });
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .array(item, { minLength: 1, maxLength: 8 })
      .map((items) => ({ kind: 'write' as const, items })),
  },
  { weight: 1, arbitrary: someIds.map((ids) => ({ kind: 'delete' as const, ids })) },
  { weight: 1, arbitrary: someIds.map((ids) => ({ kind: 'purge' as const, ids })) },
  { weight: 3, arbitrary: fc.constant({ kind: 'refresh' as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'read' as const }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const isRight = { $expr: { $eq: [{ $getField: 'scores.right' }, { $literal: true }] } };
const SCAN = {
  rootIds: RUNS,
  hasScores: true,
  hasChildren: true,
  hasUsage: true,
  hasCosts: false,
  isCompared: true,
  conditions: [isRight],
  fields: [],
  limit: 1000,
};

describe('kept trials', () => {
  const app = useApp();
  const refresh = () => app.app.get(KeptTrialsRefresher).refresh();
  let projects = 0;
  const aProject = () => `acme/kept${projects++}`;

  async function run(project_id: string, given: Step): Promise<void> {
    if (given.kind === 'write') {
      const batch = given.items
        .map((of) => of(project_id))
        .map(({ mode, call }) => ({ mode, req: { [mode]: { project_id, ...call } } }));
      const { status, body } = await app.post('/call/upsert_batch', { batch });
      expect(status).toBe(200);
      expect(body.res.filter((answer: any) => answer.error)).toEqual([]);
    } else if (given.kind === 'delete')
      await app.post('/calls/delete', { project_id, call_ids: given.ids });
    else if (given.kind === 'purge')
      await app.post('/calls/purge', { project_id, call_ids: given.ids });
    else if (given.kind === 'refresh') await refresh();
    else await expectExact(project_id);
  }

  /** Compares the answers of the API with those computed from all calls. */
  async function expectExact(project_id: string): Promise<void> {
    const calls = await app.query<StoredCall>(STORED_CALLS, [project_id]);
    const known = RUNS.filter((id) =>
      calls.some((call) => call.id === id && call.op_name !== null && call.deleted_at === null),
    );
    const ask = async (more: object) => {
      const { status, body } = await app.post(`/v2/${project_id}/eval_results/query`, {
        evaluation_call_ids: RUNS,
        ...more,
      });
      expect(status).toBe(200);
      return body;
    };
    const runs = known.map((id) => ({ id, trials: trialsOf(calls, id) }));
    const digests = (of: (trial: { scores: Record<string, unknown> }) => boolean) =>
      [
        ...new Set(runs.flatMap(({ trials }) => trials.filter(of).map(({ digest }) => digest))),
      ].toSorted();
    const { rows, summary } = await ask({ include_summary: true });
    expect(rows.map((one: any) => one.row_digest)).toEqual(digests(() => true));
    expect(
      rows.flatMap((one: any) =>
        one.evaluations.flatMap(({ evaluation_call_id, trials }: any) =>
          trials.map((trial: any) => [
            one.row_digest,
            evaluation_call_id,
            trial.predict_and_score_call_id,
            trial.scores,
          ]),
        ),
      ),
    ).toEqual(
      digests(() => true).flatMap((digest) =>
        runs.flatMap(({ id, trials }) =>
          trials
            .filter((trial) => trial.digest === digest)
            .map((trial) => [digest, id, trial.id, trial.scores]),
        ),
      ),
    );
    expect(
      summary.evaluations.map(
        ({ evaluation_call_id, trial_count, scorer_stats, predict_total_tokens }: any) => ({
          evaluation_call_id,
          trial_count,
          predict_total_tokens,
          right: scorer_stats
            .filter(({ scorer_key, path }: any) => scorer_key === 'right' && path === null)
            .map(({ pass_true_count, pass_known_count, numeric_count, trial_count: n }: any) => [
              pass_true_count,
              pass_known_count,
              numeric_count,
              n,
            ]),
        }),
      ),
    ).toEqual(
      runs
        .filter(({ trials }) => trials.length > 0)
        .map(({ id, trials }) => {
          const values = trials.map((trial) => trial.scores['right']);
          const count = (is: (value: unknown) => boolean) => values.filter(is).length;
          const counts = [
            count((value) => value === true),
            count((value) => typeof value === 'boolean'),
            count((value) => typeof value === 'number'),
            count((value) => ['boolean', 'number', 'string'].includes(typeof value)),
          ];
          const tokens = trials.map((trial) => trial.tokens).filter((n) => n !== null);
          return {
            evaluation_call_id: id,
            trial_count: trials.length,
            predict_total_tokens: tokens.length > 0 ? tokens.reduce((a, b) => a + b, 0) : null,
            right: counts[3]! > 0 ? [counts] : [],
          };
        }),
    );
    const filtered = await ask({ filters: [{ query: isRight }] });
    expect(filtered.rows.map((one: any) => one.row_digest)).toEqual(
      digests((trial) => trial.scores['right'] === true),
    );
  }

  it('answer as a look at every call does, whatever arrives in whatever order', async () => {
    let kept = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
        const project_id = aProject();
        for (const each of steps) await run(project_id, each);
        await expectExact(project_id);
        await refresh();
        await expectExact(project_id);
        kept += (await app.query('SELECT FROM kept_trials WHERE project_id = $1', [project_id]))
          .length;
      }),
      { numRuns: 60 },
    );
    expect(kept).toBeGreaterThan(0);
  });

  it('are exact in every snapshot while writers and refreshers race', async () => {
    const project_id = aProject();
    const clients = Array.from({ length: 3 }, () => new pg.Client(app.databaseUrl));
    await Promise.all(clients.map((client) => client.connect()));
    const written = new AbortController();
    let kept = 0;
    const shown = (
      runId: string,
      digest: string,
      { id, scores: of, latency, tokens, hits }: Trial,
    ) => ({
      runId,
      id,
      digest,
      latency,
      tokens,
      scores: sorted(of),
      isRight: hits[0],
    });
    const byKey = (a: { runId: string; id: string }, b: { runId: string; id: string }) =>
      a.runId + a.id < b.runId + b.id ? -1 : 1;
    const read = async (client: pg.Client) => {
      let reads = 0;
      while (!written.signal.aborted) {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
        const { text, values } = scanQuery({ projectId: project_id, ...SCAN }).toQuery();
        const answered = await client.query<{ json: string }>(text, values);
        const stored = await client.query<StoredCall>(STORED_CALLS, [project_id]);
        await client.query('COMMIT');
        const found: ReturnType<typeof shown>[] = [];
        const add = (digest: string, runId: string, trial: Trial) =>
          void found.push(shown(runId, digest, trial));
        const documents = new DocumentReader(new BodyBudget(2 ** 26).hold('test'));
        const reader = new TrialReader({ add }, documents, SCAN);
        for (const { json } of answered.rows) {
          if (typeof JSON.parse(json)[0] === 'string') kept++;
          await reader.read(json);
        }
        expect(found.toSorted(byKey)).toEqual(
          RUNS.flatMap((runId) =>
            trialsOf(stored.rows, runId).map(({ id, digest, scores: of, latency, tokens }) => ({
              runId,
              id,
              digest,
              latency,
              tokens,
              scores: sorted(scoreText(JSON.stringify(of))),
              isRight: of['right'] === true,
            })),
          ).toSorted(byKey),
        );
        reads++;
      }
      return reads;
    };
    const refreshAll = async () => {
      while (!written.signal.aborted) await refresh();
    };
    const write = async () => {
      for (const each of fc.sample(step, 60)) if (each.kind !== 'read') await run(project_id, each);
    };
    const [reads] = await Promise.all([
      Promise.all(clients.map(read)),
      Promise.all([refreshAll(), refreshAll()]),
      Promise.all(Array.from({ length: 6 }, write)).finally(() => written.abort()),
    ]);
    expect(Math.min(...reads)).toBeGreaterThan(0);
    expect(kept).toBeGreaterThan(0);
    await Promise.all(clients.map((client) => client.end()));
    do await refresh();
    while ((await app.query('SELECT FROM trial_marks LIMIT 1')).length > 0);
    await expectExact(project_id);
  });
});

/** Returns the text of an object with its members in the order of their names. */
const sorted = (text: string): string => JSON.stringify(inOrder(JSON.parse(text)));

function inOrder(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, inOrder(member)]),
  );
}
