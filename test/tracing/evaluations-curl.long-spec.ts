import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { openTestDatabase } from '../support/database.js';
import { startServer } from '../support/server.js';

it('docs/evaluations.md records two runs by curl alone, and compares them', async () => {
  const [, script] = /```sh\n([\s\S]+?)```/.exec(readFileSync('docs/evaluations.md', 'utf8'))!;
  const database = await openTestDatabase();
  const server = await startServer({ DATABASE_URL: database.url });
  try {
    const env = { PATH: process.env['PATH']!, KEY: server.key, V2: `${server.url}/v2/acme/demo` };
    const { stdout } = await promisify(execFile)('sh', ['-euc', script!], { env });
    const [results, compared] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(results).toMatchObject({ total_rows: 2, warnings: [] });
    expect(
      results.rows.map((row: any) =>
        row.evaluations.map(({ trials: [trial] }: any) => [trial.model_output, trial.scores.right]),
      ),
    ).toEqual([
      [
        ['4', true],
        ['5', false],
      ],
      [
        ['2', true],
        ['2', true],
      ],
    ]);
    const stats = results.summary.evaluations.map(({ scorer_stats: [right] }: any) => right);
    expect(stats.map(({ pass_rate }: any) => pass_rate)).toEqual([1, 0.5]);
    expect(compared.comparisons[0]).toMatchObject({
      rows_paired: 2,
      scores: [{ scorer_key: 'right', difference: -0.5, rows_down: 1, n: 2 }],
    });
  } finally {
    await server.stop();
    await database.drop();
  }
});
