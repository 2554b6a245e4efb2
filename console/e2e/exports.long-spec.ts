import { readFile } from 'node:fs/promises';
import { DuckDBConnection } from '@duckdb/node-api';
import type { Page } from 'playwright-core';
import { linesOf } from '../../test/support/app.js';
import { buildsOf } from '../../test/support/builds.js';
import { aRun } from '../../test/support/evaluations.js';
import { record } from '../../test/support/rollouts.js';
import { type Console, describeConsole, openConsole, violations } from './support/console.js';

const PROJECT = 'acme/files';
const PATH = `/p/${PROJECT}`;

describeConsole('Export', () => {
  let console: Console;
  beforeAll(async () => {
    console = await openConsole();
    const at = (n: number) => `2026-01-01T00:00:0${n}Z`;
    await post(`/v2/${PROJECT}/calls/complete`, {
      batch: [1, 2, 3, 4].map((n) => ({
        ...{ project_id: PROJECT, id: `c${n}`, trace_id: `c${n}`, turn_id: `c${n}` },
        thread_id: `thread ${n % 3}`,
        ...{ op_name: 'turn', started_at: at(n), ended_at: at(n + 1), attributes: {} },
        inputs: { question: n === 3 ? 'Where is 你好?' : `Question ${n}` },
        output: 'yes',
      })),
    });
  });
  afterAll(() => console.close());
  afterEach(() => expect(console.faults).toEqual([]));

  const post = async (path: string, body: unknown) => {
    const answer = await console.app.post(path, body);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body;
  };
  const listed = async (path: string, body: object) => {
    const answer = await console.app.post(path, { project_id: PROJECT, ...body });
    return linesOf(answer);
  };
  const openDialog = async (page: Page, rows: string) => {
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: `Export all ${rows}` });
    await dialog.waitFor();
    return dialog;
  };
  /** Exports the list of an open page. Returns the name of the file and its path. */
  async function saved(page: Page, rows: string, format: string) {
    const dialog = await openDialog(page, rows);
    expect(await violations(page)).toEqual([]);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: format }).click(),
    ]);
    await dialog.waitFor({ state: 'detached' });
    return { name: download.suggestedFilename(), path: await download.path() };
  }
  async function lines(page: Page, rows: string): Promise<[name: string, rows: any[]]> {
    const { name, path } = await saved(page, rows, 'JSON lines');
    const text = await readFile(path, 'utf8');
    return [
      name,
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as unknown),
    ];
  }

  it('saves all threads that match the search', async () => {
    const page = await console.open(`${PATH}/threads`);
    await page.getByRole('link', { name: 'thread 1' }).waitFor();
    const [name, rows] = await lines(page, 'threads');
    expect(name).toBe('acme_files-threads.jsonl');
    expect(rows).toEqual(await listed('/threads/stream_query', {}));
    expect(rows).toHaveLength(3);
    await page.getByRole('searchbox').fill('你好');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=/);
    expect((await lines(page, 'threads'))[1]).toEqual(
      await listed('/threads/stream_query', { filter: { thread_ids: ['thread 0'] } }),
    );
    await page.getByRole('searchbox').fill('nobody says this');
    await page.keyboard.press('Enter');
    await page.getByText('No thread matches').first().waitFor();
    const dialog = await openDialog(page, 'threads');
    await dialog.getByRole('button', { name: 'JSON lines' }).click();
    await dialog.getByRole('alert').getByText('No thread matches.').waitFor();
  });

  it('saves the rows of a dataset, also as Parquet', async () => {
    const rows = [{ n: 1, word: 'größe' }, { n: 2 }];
    const { digest } = await post('/table/create', { table: { project_id: PROJECT, rows } });
    const val = { _type: 'Dataset', rows: `svc:///${PROJECT}/table/${digest}` };
    await post('/obj/create', { obj: { project_id: PROJECT, object_id: 'words', val } });
    const page = await console.open(`${PATH}/objects/words`);
    await page.getByRole('status').getByText('2 rows').waitFor();
    const table = await post('/table/query', { project_id: PROJECT, digest });
    expect(await lines(page, 'rows')).toEqual(['words.jsonl', table.rows]);
    const { name, path } = await saved(page, 'rows', 'Parquet');
    expect(name).toBe('words.parquet');
    const duck = await DuckDBConnection.create();
    const read = await duck.runAndReadAll(`SELECT * FROM read_parquet('${path}')`);
    expect(read.getRowObjectsJson()).toEqual([
      { n: 1, word: 'größe' },
      { n: 2, word: null },
    ]);
    duck.closeSync();
  });

  it('saves the objects of the chosen kind', async () => {
    const op = { _type: 'CustomWeaveType', weave_type: { type: 'Op' } };
    await post('/obj/create', { obj: { project_id: PROJECT, object_id: 'run', val: op } });
    for (const n of [1, 2])
      await post('/obj/create', {
        obj: { project_id: PROJECT, object_id: 'run', val: { ...op, n } },
      });
    const page = await console.open(`${PATH}/objects?kind=op`);
    await page.getByRole('link', { name: 'run' }).waitFor();
    const filter = { is_op: true, latest_only: true };
    const { objs } = await post('/objs/query', { project_id: PROJECT, filter });
    expect(await lines(page, 'objects')).toEqual(['acme_files-objects.jsonl', objs]);
    expect(objs).toEqual([expect.objectContaining({ object_id: 'run', val: { ...op, n: 2 } })]);
  });

  it('saves the answers that were given in a queue', async () => {
    const queue = { project_id: PROJECT, name: 'Review', scorer_refs: [] };
    const { id: queue_id } = await post('/annotation_queues', queue);
    const given = (id: string, more: object) =>
      post('/feedback/create', {
        ...{ project_id: PROJECT, svc_ref: `svc:///${PROJECT}/call/${id}` },
        ...{ feedback_type: 'custom', payload: { of: id }, ...more },
      });
    await given('c1', { queue_id });
    await given('c2', { queue_id });
    await given('c3', {});
    const page = await console.open(`${PATH}/queues/${queue_id}`);
    await page.getByRole('heading', { name: 'Review' }).waitFor();
    const [name, rows] = await lines(page, 'answers');
    expect(name).toBe('acme_files-Review.jsonl');
    expect(rows.map(({ payload }) => payload.of).toSorted()).toEqual(['c1', 'c2']);
    const query = { $expr: { $eq: [{ $getField: 'queue_id' }, { $literal: queue_id }] } };
    const { result } = await post('/feedback/query', { project_id: PROJECT, query });
    expect(rows).toEqual(expect.arrayContaining(result));
  });

  it('saves all runs of evaluations', async () => {
    for (const run of ['r1', 'r2'])
      await aRun(console.app, PROJECT, run, [{ example: { q: 1 }, output: 'a' }]);
    const page = await console.open(`${PATH}/evaluations`);
    await page.getByRole('region', { name: 'Table of runs' }).waitFor();
    const [name, rows] = await lines(page, 'calls');
    expect(name).toBe('acme_files-runs.jsonl');
    expect(rows.map(({ id }) => id).toSorted()).toEqual(['r1', 'r2']);
  });

  it('saves the trajectories of a build', async () => {
    const { build, exported } = buildsOf(() => console.app, 'files');
    const project = 'acme/trained';
    const asks = (content: string) => [{ messages: [{ role: 'user', content: 'a' }], content }];
    const specs = ['x', 'y', 'z'].map((id, n) => ({ id, score: n, task: 't', asks: asks(id) }));
    await record(console.app, specs, project);
    const { build_id } = (await build(project)).body;
    const page = await console.open(`/p/${project}/training/builds/${build_id}`);
    await page.getByRole('heading', { name: 'Build of recipe' }).waitFor();
    const [name, rows] = await lines(page, 'trajectories');
    expect(name).toBe('recipe.jsonl');
    const groups = (await exported(project, build_id, 'art')).rows;
    expect(rows).toEqual(
      groups.flatMap(({ trajectories }) =>
        trajectories.map((trajectory: object) => expect.objectContaining(trajectory)),
      ),
    );
    expect(rows).toHaveLength(3);
  });

  describe('of a large list', () => {
    const project = 'acme/large';
    let page: Page;
    beforeAll(async () => {
      const table = { project_id: project, rows: [{ text: 'x'.repeat(4_000_000) }] };
      const { row_digests } = await post('/table/create', { table });
      const body = { project_id: project, row_digests: Array(200).fill(row_digests[0]) };
      const { digest } = await post('/table/create_from_digests', body);
      const val = { _type: 'Dataset', rows: `svc:///${project}/table/${digest}` };
      await post('/obj/create', { obj: { project_id: project, object_id: 'large', val } });
      page = await console.open(`/p/${project}/objects/large?tab=rows`);
    });
    const downloads: string[] = [];
    const running = `FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND query LIKE '%original_index%' AND state <> 'idle'`;

    it('shows how far it is, and says so when it fails: no file is saved', async () => {
      page.on('download', (download) => downloads.push(download.suggestedFilename()));
      const dialog = await openDialog(page, 'rows');
      await dialog.getByRole('button', { name: 'JSON lines' }).click();
      await dialog
        .getByRole('status')
        .getByText(/^[1-9]\d* rows, [\d.]+ MB received$/)
        .waitFor();
      await console.app.query(`SELECT pg_terminate_backend(pid) ${running}`);
      await dialog.getByRole('alert').getByText('so nothing was saved').waitFor();
      expect(await violations(page)).toEqual([]);
      expect(downloads).toEqual([]);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    });

    it('ends when it is cancelled', async () => {
      const dialog = await openDialog(page, 'rows');
      await dialog.getByRole('button', { name: 'JSON lines' }).click();
      await dialog
        .getByRole('status')
        .getByText(/^[1-9]\d* rows/)
        .waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
      for (let left = 1; left > 0;) left = (await console.app.query(`SELECT ${running}`)).length;
      expect(downloads).toEqual([]);
    });
  });
});
