import { startApp, type TestApp } from './support/app.js';

describe('objects under WIRE_DIALECT=weave', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ WIRE_DIALECT: 'weave' });
  });
  afterAll(() => app.close());

  const project_id = 'acme/demo';

  it('name the user and refs in its way', async () => {
    const table = await app.post('/table/create', { table: { project_id, rows: [{ a: 1 }] } });
    const { digest, row_digests } = table.body;
    const val = { rows: `weave:///${project_id}/table/${digest}` };
    const created = await app.post('/obj/create', { obj: { project_id, object_id: 'data', val } });
    const [obj] = (await app.post('/objs/query', { project_id })).body.objs;
    expect(obj).toMatchObject({ val, wb_user_id: 'ada' });
    expect(obj).not.toHaveProperty('svc_user_id');
    const ref = `weave:///${project_id}/object/data:${created.body.digest}`;
    const refs = [ref, `${ref}/attr/rows/id/${row_digests[0]}/key/a`];
    expect((await app.post('/refs/read_batch', { refs })).body).toEqual({ vals: [val, 1] });
    const other = await app.post('/refs/read_batch', { refs: [ref.replace('weave', 'svc')] });
    expect(other.status).toBe(400);
    expect(other.body.detail).toContain('weave:///');
  });
});
