import pg from 'pg';
import { runClient, startWeaveServer, type WeaveServer } from '../support/client.js';
import { until } from '../support/until.js';

const PROJECT = 'acme/npm-evaluations';

/** Runs the published npm package, unmodified, in a process of its own. */
describe('npm weave', () => {
  let server: WeaveServer;
  let database: pg.Client;
  beforeAll(async () => {
    server = await startWeaveServer();
    database = new pg.Client(server.databaseUrl);
    await database.connect();
  });
  afterAll(async () => {
    await database?.end();
    await server?.close();
  });

  const results = async (id: string) => {
    const body = { evaluation_call_ids: [id], include_summary: true };
    return (await server.post(`/v2/${PROJECT}/eval_results/query`, body)).body;
  };
  /** Reads the results after the trials are kept: the service then reads them from another table. */
  const keptResults = async (id: string) => {
    const isKept = async () =>
      (await database.query('SELECT FROM kept_trials WHERE run_id = $1', [id])).rowCount! > 0 &&
      (await database.query('SELECT FROM trial_marks')).rowCount === 0;
    await until(isKept);
    return results(id);
  };

  it('evaluates, and each number of its summary follows from what the service answers', async () => {
    const seen = await runClient(
      process.execPath,
      ['test/clients/weave-evaluations.program.mjs'],
      server.settings,
    );
    const calls = await server.callsOf(PROJECT);
    expect(seen.evaluations).toHaveLength(2);
    for (const { name, trials, summary } of seen.evaluations) {
      const root = calls.find(({ display_name }) => display_name === name);
      const status = await server.post('/evaluations/status', {
        project_id: PROJECT,
        call_id: root.id,
      });
      expect(status.body.status).toEqual({ code: 'complete', output: summary });
      const { model_success, model_output, model_latency, ...scores } = summary;
      const said = await results(root.id);
      expect(said.total_rows).toBe(5);
      const [evaluation] = said.summary.evaluations;
      expect(evaluation.trial_count).toBe(trials);
      expect(rounded(ofStats(evaluation))).toEqual(rounded(flat(scores)));
      expect((await keptResults(root.id)).summary).toEqual(said.summary);

      // the remaining numbers of the summary follow from the calls of the trials
      const of = calls.filter(({ parent_id }) => parent_id === root.id);
      expect(of).toHaveLength(trials);
      const meanOf = (value: (call: any) => number) =>
        of.reduce((sum, call) => sum + value(call), 0) / trials;
      expect(rounded(flat({ model_success, model_output, model_latency }))).toEqual(
        rounded([
          ['model_success.true_count', trials * meanOf(({ output }) => output.model_success)],
          ['model_success.true_fraction', meanOf(({ output }) => Number(output.model_success))],
          ['model_output.sum.mean', meanOf(({ output }) => output.model_output?.sum ?? 0)],
          ['model_latency.mean', meanOf(({ output }) => output.model_latency)],
        ]),
      );
    }
  });

  it('logs an evaluation by hand, with a summary that is that of the service', async () => {
    const roots = (await server.callsOf(PROJECT)).filter(
      ({ op_name, display_name }) =>
        op_name.includes('/Evaluation.evaluate:') && display_name === null,
    );
    expect(roots).toHaveLength(1);
    const { even, size, ...rest } = roots[0].output;
    expect(rest).toEqual({});
    const { summary, rows } = await keptResults(roots[0].id);
    expect(rows).toHaveLength(5);
    expect(rounded(ofStats(summary.evaluations[0]))).toEqual(rounded(flat({ even, size })));
    expect({ even, size }).toEqual({
      even: { true_count: 3, true_fraction: 0.6 },
      size: { mean: 0.5 },
    });
  });
});

/** The client's summary as flat numbers: `scorer.path.mean`. */
function flat(value: any, path: string[] = []): [string, number][] {
  if (typeof value === 'number') return [[path.join('.'), value]];
  return Object.entries(value ?? {}).flatMap(([name, member]) => flat(member, [...path, name]));
}

/** The service's statistics in the same form. The client divides by all trials, including those without a value. */
const ofStats = ({ scorer_stats, trial_count }: any): [string, number][] =>
  scorer_stats.flatMap((stat: any) => {
    const at = [stat.scorer_key, ...(stat.path ? [stat.path] : [])].join('.');
    if (stat.value_type === 'continuous')
      return [[`${at}.mean`, (stat.numeric_mean * stat.numeric_count) / trial_count]];
    if (stat.value_type === 'text') return [];
    return [
      [`${at}.true_count`, stat.pass_true_count],
      [`${at}.true_fraction`, stat.pass_true_count / trial_count],
    ];
  });

const rounded = (numbers: [string, number][]) =>
  Object.fromEntries(numbers.map(([name, number]) => [name, Number(number.toFixed(9))]));
