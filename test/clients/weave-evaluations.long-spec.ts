import { join } from 'node:path';
import { runClient, startWeaveServer, type WeaveServer } from '../support/client.js';

/** Set by `npm run test:clients`, which creates the environment. Without it these tests are skipped. */
const folder = process.env['SKEIN_CLIENTS_VENV'];
const describeAll = folder ? describe : describe.skip;
const PATIENCE_MS = 300_000;
const PROJECT = 'acme/evaluations';

let server: WeaveServer;
beforeAll(async () => {
  if (folder) server = await startWeaveServer();
}, PATIENCE_MS);
afterAll(() => server?.close());

/** Reads the service's results and summary of an evaluation. */
const summaryOf = async (id: string) => {
  const body = { evaluation_call_ids: [id], include_summary: true };
  const answer = await server.post(`/v2/${PROJECT}/eval_results/query`, body);
  return { ...answer.body, ...answer.body.summary.evaluations[0] };
};

/** The client's summary as flat numbers: `scorer.path.mean`. */
function flat(value: any, path: string[] = []): [string, number][] {
  if (typeof value === 'number') return [[path.join('.'), value]];
  return Object.entries(value ?? {}).flatMap(([name, member]) => flat(member, [...path, name]));
}

/** The service's statistics in the same form. For booleans the client counts trials without a score as false. */
const ofStats = ({ scorer_stats, rows }: any): [string, number][] =>
  scorer_stats.flatMap((stat: any) => {
    const trials: any[] = rows.flatMap((row: any) => row.evaluations[0].trials);
    const unscored = trials.filter(({ scores }) => !Object.hasOwn(scores, stat.scorer_key)).length;
    const at = [stat.scorer_key, ...(stat.path ? [stat.path] : [])].join('.');
    if (stat.value_type === 'continuous') return [[`${at}.mean`, stat.numeric_mean]];
    if (stat.value_type === 'text') return [];
    return [
      [`${at}.true_count`, stat.pass_true_count],
      [`${at}.true_fraction`, stat.pass_true_count / (stat.pass_known_count + unscored)],
    ];
  }) as [string, number][];

const rounded = (numbers: [string, number][]) =>
  Object.fromEntries(numbers.map(([name, number]) => [name, Number(number.toFixed(9))]));

describeAll('PyPI weave', () => {
  it(
    'evaluates, logs evaluations and makes them by /v2, and its summaries are those of the service',
    async () => {
      const seen = await runClient(
        join(folder!, 'bin/python'),
        ['test/clients/weave-evaluations.program.py'],
        server.settings,
      );
      for (const { id, summary } of seen.evaluations) {
        const { model_latency: _, output: __, ...scores } = summary;
        const said = await summaryOf(id);
        expect(said.total_rows).toBe(8);
        expect(said.trial_count).toBe(16);
        expect(rounded(ofStats(said))).toEqual(rounded(flat(scores)));
        const latencies = said.rows.flatMap((row: any) =>
          row.evaluations[0].trials.map((trial: any) => trial.model_latency_seconds),
        );
        expect(latencies.every((seconds: unknown) => typeof seconds === 'number')).toBe(true);
      }
      const logged = await summaryOf(seen.logged.id);
      const { output: mine, ...scores } = seen.logged.summary;
      expect(mine).toEqual({ mine: 1 });
      expect(rounded(ofStats(logged))).toEqual(rounded(flat(scores)));
      expect(seen.leaderboard).toEqual(
        seen.evaluations.map(({ summary }: any) => [
          summary.correct.true_fraction,
          summary.Distance.far.mean,
        ]),
      );
      expect(seen.run).toEqual({
        id: seen.run.id,
        status: 'success',
        listed: [seen.run.id],
        predictions: 8,
        scores: [true, false, true, false, true, false, true, false],
        models: expect.arrayContaining(['Hand']),
      });
      expect([seen.page, seen.status]).toEqual([{ rows: 8, pass_rate: 0.5 }, 'complete']);
      const callsOf = async (sources: string[]) =>
        (await server.post('/calls/query_stats', { project_id: PROJECT, filter: { sources } })).body
          .count;
      expect(await callsOf(['production', 'playground'])).toBe(0);
      expect(await callsOf(['evaluation'])).toBeGreaterThan(0);
      // the same evaluation, recorded by the logger and by plain requests
      const byHand = await summaryOf(seen.run.id);
      expect(byHand.scorer_stats[0]).toEqual(logged.scorer_stats[0]);
      expect(byHand.rows.map((row: any) => row.row_digest)).toEqual(
        logged.rows.map((row: any) => row.row_digest),
      );
      const [baseline_call_id, other] = seen.evaluations.map(({ id }: any) => id);
      const compared = await server.post(`/v2/${PROJECT}/eval_results/compare`, {
        baseline_call_id,
        other_call_ids: [other],
      });
      expect(compared.body.comparisons[0]).toMatchObject({ rows_paired: 8 });
    },
    PATIENCE_MS,
  );
});
