import fc from 'fast-check';
import { basic, useApp } from '../support/app.js';
import { aStart, anEnd } from '../support/factories.js';
import { aFileForm, aPrice, refOf } from '../support/planted.js';
import { refreshed } from '../support/refreshed.js';
import { until } from '../support/until.js';

interface Row {
  project_id: string;
  call_count: number;
  bytes: number;
  last_activity: string;
}

const app = useApp();

let projects = 0;
const aProject = (entity = 'acme') => `${entity}/p${projects++}`;

async function done(path: string, body: unknown): Promise<any> {
  const answer = await app.post(path, body);
  if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
const list = async (body: object = {}): Promise<Row[]> =>
  (await done('/projects/query', { limit: 1000, ...body })).projects;
const rowOf = async (project: string) =>
  (await list()).find(({ project_id }) => project_id === project);
const countOf = async (project_id: string) =>
  (await done('/calls/query_stats', { project_id })).count;
const start = (project_id: string, id: string, more = {}) =>
  done('/call/start', { start: aStart({ project_id, id, ...more }) });

const refreshAll = () => refreshed(app, 'slots', 'projects');
const isRowThere = async (project: string) =>
  (await app.query('SELECT FROM projects WHERE project_id = $1', [project])).length > 0;

/** Requests that each change a project. */
const CHANGES: Record<string, (project_id: string, id: string) => Promise<unknown>> = {
  start: (project_id, id) => start(project_id, id),
  end: (project_id, id) => done('/call/end', { end: anEnd({ project_id, id }) }),
  update: (project_id, call_id) =>
    done('/call/update', { project_id, call_id, display_name: `name of ${call_id}` }),
  delete: (project_id, id) => done('/calls/delete', { project_id, call_ids: [id] }),
  purge: (project_id, id) => done('/calls/purge', { project_id, call_ids: [id] }),
  publish: (project_id, object_id) =>
    done('/obj/create', { obj: { project_id, object_id, val: { a: object_id } } }),
  feedback: (project_id, id) =>
    done('/feedback/create', {
      project_id,
      svc_ref: refOf(project_id, `call/${id}`),
      feedback_type: 'custom',
      payload: { id },
    }),
  price: (project_id, id) => done('/cost/create', { project_id, costs: { [id]: aPrice } }),
  batch: (project_id, id) =>
    done('/call/upsert_batch', {
      batch: [1, 2, 3].flatMap((n) => [
        { mode: 'start', req: { start: aStart({ project_id, id: `${id}-${n}` }) } },
        { mode: 'end', req: { end: anEnd({ project_id, id: `${id}-${n % 2}` }) } },
      ]),
    }),
};

async function expectExact(project: string): Promise<void> {
  const [truth] = await app.query(
    `SELECT count(*) FILTER (WHERE op_name IS NOT NULL AND deleted_at IS NULL)::int AS calls FROM calls WHERE project_id = $1`,
    [project],
  );
  expect(await countOf(project)).toBe(truth!.calls);
  expect((await rowOf(project))?.call_count ?? 0).toBe(truth!.calls);
}

it('counts exactly, whatever is written, erased and refreshed in whichever order', async () => {
  const step = fc.record({
    change: fc.constantFrom(...Object.keys(CHANGES)),
    id: fc.constantFrom('a', 'b', 'c'),
    isRefreshed: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const project = aProject();
      for (const { change, id, isRefreshed } of steps) {
        await CHANGES[change]!(project, id);
        if (isRefreshed) await refreshAll();
      }
      await expectExact(project);
    }),
    { numRuns: 25 },
  );
});

it('counts exactly while many write and the marks are taken', async () => {
  const project = aProject();
  const writes = Array.from({ length: 60 }, (_, i) =>
    i % 3 === 2 ? CHANGES.delete!(project, `c${i - 2}`) : start(project, `c${i}`),
  );
  const reads = Array.from({ length: 10 }, async () => {
    await refreshAll();
    await rowOf(project);
  });
  await Promise.all([...writes, ...reads]);
  await expectExact(project);
  await refreshAll();
  await expectExact(project);
});

it('says how many bytes are stored, and forgets a project that holds nothing any more', async () => {
  const project = aProject();
  expect(await rowOf(project)).toBeUndefined();
  const val = { text: 'x'.repeat(1000) };
  await done('/obj/create', { obj: { project_id: project, object_id: 'o', val } });
  const published = (await rowOf(project))!;
  expect(published).toMatchObject({ call_count: 0, bytes: JSON.stringify(val).length });
  const form = await fetch(`${app.url}/file/create`, {
    method: 'POST',
    headers: { authorization: basic(app.key) },
    body: aFileForm(project, 'y'.repeat(500)),
  });
  expect(form.status).toBe(200);
  expect((await rowOf(project))!.bytes).toBe(published.bytes + 500);

  await start(project, 'a', { started_at: '2026-01-01T00:00:00Z', inputs: { a: 1 } });
  await refreshAll();
  const [stored] = await app.query(
    `SELECT (pg_column_size(inputs) + pg_column_size(attributes))::int AS bytes FROM calls WHERE project_id = $1`,
    [project],
  );
  expect((await rowOf(project))!.bytes).toBe(published.bytes + 500 + stored!.bytes);
  await done('/table/create', { table: { project_id: project, rows: [{ a: 1 }, { a: 2 }] } });
  const sizes = (await app.post('/project/stats', { project_id: project })).body;
  expect(sizes).toEqual({
    trace_storage_size_bytes: stored!.bytes,
    objects_storage_size_bytes: published.bytes,
    tables_storage_size_bytes: expect.any(Number),
    files_storage_size_bytes: 500,
  });
  expect(sizes.tables_storage_size_bytes).toBeGreaterThan(2 * 43);
  const some = {
    project_id: project,
    include_table_storage_size: false,
    include_file_storage_size: null,
  };
  expect((await app.post('/project/stats', some)).body).toEqual({
    ...sizes,
    tables_storage_size_bytes: 0,
  });
  expect(await isRowThere(project)).toBe(true);

  await done('/project/delete', { project_id: project });
  await until(async () => {
    await refreshAll();
    return !(await isRowThere(project));
  });
  expect(await rowOf(project)).toBeUndefined();
  expect(await countOf(project)).toBe(0);
});

it('knows a project by anything that it holds', async () => {
  for (const change of ['start', 'publish', 'feedback', 'price'] as const) {
    const project = aProject();
    await CHANGES[change]!(project, 'a');
    expect(await rowOf(project)).toMatchObject({ call_count: change === 'start' ? 1 : 0 });
  }
});

it('shows what the scopes of the key cover, and nothing else', async () => {
  const names = ['near/a', 'near/b', 'near0/a', 'nea/r', 'near./a'];
  for (const project of names) await start(project, 'a');
  const seen = async (scopes: string[]) => {
    const answer = await app.post(
      '/projects/query',
      { sort_by: [{ field: 'project_id', direction: 'asc' }], limit: 1000 },
      { key: await app.aKey('reader', scopes) },
    );
    return answer.body.projects
      .map(({ project_id }: Row) => project_id)
      .filter((name: string) => names.includes(name));
  };
  expect(await seen(['near/*'])).toEqual(['near/a', 'near/b']);
  expect(await seen(['near/b', 'nea/r'])).toEqual(['nea/r', 'near/b']);
  expect(await seen(['near/nothing'])).toEqual([]);
  expect(await seen(['*'])).toEqual(names.toSorted());
});

it('sorts, the latest activity first by default, and pages', async () => {
  const [first, second, third] = [aProject('page'), aProject('page'), aProject('page')] as const;
  for (const project of [first, second, third, first]) {
    await start(project, `${projects++}`);
    await refreshAll();
  }
  const key = await app.aKey('reader', ['page/*']);
  const ids = async (body: object) => {
    const answer = await app.post('/projects/query', body, { key });
    expect(answer.status).toBe(200);
    return answer.body.projects.map(({ project_id }: Row) => project_id);
  };
  expect(await ids({})).toEqual([first, third, second]);
  expect(await ids({ limit: 1, offset: 1 })).toEqual([third]);
  expect(await ids({ limit: 0 })).toEqual([]);
  const byCalls = [{ field: 'call_count', direction: 'asc' }];
  expect(await ids({ sort_by: byCalls })).toEqual([second, third, first]);
  const bad = await app.post('/projects/query', {
    limit: 1001,
    sort_by: [{ field: 'row_count', direction: 'asc' }],
  });
  expect(bad.status).toBe(400);
  expect(bad.body.errors.map(({ path }: { path: string }) => path)).toEqual([
    'limit',
    'sort_by[0].field',
  ]);
});
