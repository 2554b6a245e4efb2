import fc from 'fast-check';
import { linesOf, startApp, type TestApp } from '../support/app.js';

const MINE = 'acme/mine';
const THEIRS = 'acme/theirs';
const NAMES = ['one', 'two', 'three'];

const literal = (value: unknown) => ({ $literal: value });

/** Expressions of any depth that are true for every row, with the other project's name in them. */
const { isTrue } = fc.letrec<{ isTrue: object; isFalse: object; any: object }>((tie) => ({
  isTrue: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<object>(
      literal(true),
      literal('string'),
      { $eq: [literal(1), literal(1)] },
      { $in: [literal('a'), [literal('a')]] },
      { $contains: { input: literal(THEIRS), substr: literal('theirs') } },
      { $eq: [literal("' OR TRUE --"), literal("' OR TRUE --")] },
      { $convert: { input: { $getField: 'id' }, to: 'exists' } },
      { $gte: [{ $getField: 'id' }, literal('')] },
    ),
    fc.array(tie('isTrue'), { minLength: 1, maxLength: 3 }).map(($and) => ({ $and })),
    fc.tuple(tie('any'), tie('isTrue')).map(($or) => ({ $or })),
    tie('isFalse').map((x) => ({ $not: [x] })),
    tie('any').map((x) => ({ $or: [x, { $not: [x] }, literal(true)] })),
  ),
  isFalse: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<object>(literal(false), { $ne: [literal(1), literal(1)] }),
    tie('isTrue').map((x) => ({ $not: [x] })),
  ),
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<object>(
      { $eq: [{ $getField: 'id' }, literal(`${THEIRS} one`)] },
      { $eq: [{ $getField: 'project_id' }, literal(THEIRS)] },
    ),
    tie('isTrue'),
    tie('isFalse'),
  ),
}));

/** Replaces a field, because cost records have no project id. */
const without = (name: string, tree: object): object =>
  JSON.parse(JSON.stringify(tree).replaceAll(`"${name}"`, '"llm_id"'));

describe('a project', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
    for (const project_id of [MINE, THEIRS]) {
      for (const name of NAMES) {
        const id = `${project_id} ${name}`;
        await app.post('/call/start', {
          start: {
            project_id,
            id,
            op_name: name,
            started_at: '2026-01-01',
            inputs: { project_id },
          },
        });
        await app.post('/feedback/create', {
          project_id,
          id,
          svc_ref: `svc:///${MINE}/call/${MINE} ${name}`,
          feedback_type: 'custom',
          payload: { project_id },
        });
        await app.post('/cost/create', {
          project_id,
          costs: { [id]: { prompt_token_cost: 1, completion_token_cost: 1 } },
        });
      }
    }
  });
  afterAll(() => app.close());

  const calls = async (query: object) =>
    linesOf(
      await app.post('/calls/stream_query', { project_id: MINE, query, include_feedback: true }),
    );
  const ids = (rows: any[], name = 'id') => rows.map((row): string => row[name]).toSorted();
  const ours = (project_id: string) => NAMES.map((name) => `${project_id} ${name}`).toSorted();

  it('is all that a query reads, whatever tree it carries', async () => {
    await fc.assert(
      fc.asyncProperty(isTrue, async (tree) => {
        const query = { $expr: tree };
        const lines = await calls(query);
        expect(ids(lines)).toEqual(ours(MINE));
        for (const { summary } of lines)
          expect(summary.svc.feedback.map((row: any) => row.project_id)).toEqual([MINE]);
        const asked = { project_id: MINE, query };
        expect(ids((await app.post('/calls/query', asked)).body.calls)).toEqual(ours(MINE));
        expect((await app.post('/calls/query_stats', asked)).body.count).toBe(3);
        const { result, total_count } = (await app.post('/feedback/query', asked)).body;
        expect(ids(result)).toEqual(ours(MINE));
        expect(total_count).toBe(3);
        const costs = await app.post('/cost/query', {
          project_id: MINE,
          query: without('project_id', query),
        });
        expect(ids(costs.body.results, 'llm_id')).toEqual(ours(MINE));
      }),
      { numRuns: 60 },
    );
  });

  it('is all that a purge deletes', async () => {
    const asked = { project_id: MINE, query: { $expr: { $or: [literal(true), literal(true)] } } };
    expect((await app.post('/feedback/purge', asked)).status).toBe(200);
    expect((await app.post('/cost/purge', asked)).status).toBe(200);
    const left = async (path: string, project_id: string) =>
      Object.values<any>((await app.post(path, { project_id })).body)[0];
    expect(await left('/feedback/query', MINE)).toEqual([]);
    expect(await left('/cost/query', MINE)).toEqual([]);
    expect(ids(await left('/feedback/query', THEIRS))).toEqual(ours(THEIRS));
    expect(ids(await left('/cost/query', THEIRS), 'llm_id')).toEqual(ours(THEIRS));
  });

  it('keeps its row when another one replaces feedback of the same id', async () => {
    const feedback_id = `${THEIRS} one`;
    const answer = await app.post('/feedback/replace', {
      project_id: MINE,
      feedback_id,
      svc_ref: `svc:///${MINE}/call/x`,
      feedback_type: 'custom',
      payload: {},
    });
    expect(answer.status).toBe(200);
    const { body } = await app.post('/feedback/query', { project_id: THEIRS });
    expect(ids(body.result)).toContain(feedback_id);
  });
});
