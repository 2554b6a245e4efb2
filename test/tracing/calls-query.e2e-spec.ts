import { randomBytes } from 'node:crypto';
import { ConnectionSlots } from '../../src/platform/database/connection-slots.js';
import { callRows } from '../../src/tracing/calls/read/call-lists.query.js';
import { useApp } from '../support/app.js';
import { useCalls } from '../support/calls.js';
import { unlessCluster } from '../support/database.js';
import { aStart, at } from '../support/factories.js';

describe('reading calls', () => {
  const app = useApp();
  const calls = useCalls(app);

  beforeEach(async () => {
    const items: [string, object][] = [
      [
        'a',
        {
          trace_id: 't1',
          op_name: `svc:///${calls.project_id}/op/run:abc`,
          thread_id: 'th',
          turn_id: 'a',
          svc_run_id: 'r1',
        },
      ],
      [
        'b',
        {
          trace_id: 't1',
          parent_id: 'a',
          op_name: `svc:///${calls.project_id}/op/run:def`,
          inputs: { ref: `svc:///${calls.project_id}/object/x:1` },
        },
      ],
      [
        'c',
        {
          trace_id: 't1',
          parent_id: 'b',
          op_name: 'plain',
          inputs: { model: { name: 'gpt' } },
          svc_run_step: 5,
        },
      ],
      ['d', { trace_id: 't2', op_name: 'plain', display_name: 'shown' }],
    ];
    await app.post('/call/upsert_batch', {
      batch: items.map(([id, overrides], i) => ({
        mode: 'start',
        req: {
          start: aStart({ project_id: calls.project_id, id, started_at: at(i), ...overrides }),
        },
      })),
    });
    await calls.end({ id: 'd', output: { ref: `svc:///${calls.project_id}/object/y:2` } });
  });

  it.each<[object, string[]]>([
    [{ trace_ids: ['t1'] }, ['a', 'b', 'c']],
    [{ trace_ids: [] }, ['a', 'b', 'c', 'd']],
    [{ call_ids: ['d', 'a', 'nope'] }, ['a', 'd']],
    [{ parent_ids: ['a', 'b'] }, ['b', 'c']],
    [{ trace_roots_only: true }, ['a', 'd']],
    [{ orphans_only: true }, []],
    [{ op_names: ['plain'] }, ['c', 'd']],
    [{ op_names: ['svc:///PROJECT/op/run:*'] }, ['a', 'b']],
    [{ op_names: ['svc:///PROJECT/op/run:abc', 'pla%'] }, ['a']],
    [{ input_refs: ['svc:///PROJECT/object/x:1'] }, ['b']],
    [{ input_refs: ['svc:///PROJECT/object/x'] }, []],
    [{ input_refs: ['none', 'svc:///PROJECT/object/x:1', 'none either'] }, ['b']],
    [{ input_refs: [], output_refs: ['none'] }, []],
    [{ output_refs: ['svc:///PROJECT/object/y:2'] }, ['d']],
    [{ thread_ids: ['th'] }, ['a']],
    [{ thread_ids: [] }, []],
    [{ turn_ids: ['a'] }, ['a']],
    [{ turn_ids: [] }, []],
    [{ svc_run_ids: ['r1'] }, ['a']],
    [{ svc_user_ids: ['nobody'] }, []],
    [{ trace_ids: ['t1'], trace_roots_only: true }, ['a']],
    [{ unknown_filter: ['x'] }, ['a', 'b', 'c', 'd']],
  ])('filters by %j', async (filter, ids) => {
    const named = JSON.parse(JSON.stringify(filter).replaceAll('PROJECT', calls.project_id));
    expect(await calls.idsOf({ filter: named })).toEqual(ids);
    expect(
      (await app.post('/calls/query_stats', { project_id: calls.project_id, filter: named })).body,
    ).toEqual({
      count: ids.length,
      has_more: false,
    });
  });

  describe('text in documents', () => {
    /** A tool's answer: JSON inside a string, so that its escapes are escaped twice. */
    const TOOL = String.raw`{"messages":[{"role":"tool","content":"{\"city\":\"\\u5317\\u4eac\",\"note\":\"say \\\"hi\\\"\\nthen go\",\"link\":\"https:\\/\\/example.com\\/a\"}"}]}`;
    const DEEP = String.raw`{"a":"{\"b\":\"{\\\"c\\\":\\\"caf\\\\u00e9 \\\\ud83d\\\\ude00\\\"}\"}"}`;
    const documents: Record<string, string> = {
      plain: '{"q":"你好, world / tea"}',
      escaped: String.raw`{"q":"\u4f60\u597D, w\u006Frld \/ tea"}`,
      quoted: String.raw`{"q":"he said \"yes\"\nand left C:\\new"}`,
      tool: TOOL,
      deep: DEEP,
      html: String.raw`{"q":"\u003cb\u003eBold\u003c/b\u003e \u00c9t\u00c9 \u0416"}`,
      half: String.raw`{"q":"half \ud800 of \u0000 it"}`,
    };
    const send = (texts: Record<string, string>) =>
      app.post(
        '/call/upsert_batch',
        `{"batch":[${Object.entries(texts)
          .map(
            ([id, inputs], i) =>
              `{"mode":"start","req":{"start":{"project_id":"${calls.project_id}","id":"${id}","op_name":"op","started_at":"${at(20 + i)}","inputs":${inputs},"attributes":${inputs}}}}`,
          )
          .join()}]}`,
      );
    const found = async (substr: string, case_insensitive = false, field = 'inputs') => {
      const $contains = {
        input: { $getField: field },
        substr: { $literal: substr },
        case_insensitive,
      };
      const query = { $expr: { $contains } };
      const ids = await calls.idsOf({ query });
      const { body } = await app.post('/calls/query_stats', {
        project_id: calls.project_id,
        query,
      });
      expect(body.count).toBe(ids.length);
      return ids;
    };
    beforeEach(() => send(documents));

    it.each<[string, string[]]>([
      ['你好', ['plain', 'escaped']],
      ['你好, world', ['plain', 'escaped']],
      ['world / tea', ['plain', 'escaped']],
      ['"yes"', ['quoted']],
      ['"yes"\nand', ['quoted']],
      ['C:\\new', ['quoted']],
      ['C:\new', []],
      ['\nand', ['quoted']],
      ['nand', []],
      [String.raw`\nand`, []],
      ['u4f60', []],
      ['北京', ['tool']],
      ['say "hi"\nthen', ['tool']],
      ['"hi"', ['tool']],
      ['https://example.com/a', ['tool']],
      ['"city":"北京"', ['tool']],
      ['café 😀', ['deep']],
      ['😀', ['deep']],
      ['{"c":"café', ['deep']],
      ['<b>Bold</b>', ['html']],
      ['half \ud800 of \0 it', ['half']],
      ['"role":"tool"', ['tool']],
      ['.*', []],
      ['[a-z]+', []],
      ['(', []],
      ['\n', ['quoted', 'tool']],
      ['/ ', ['plain', 'escaped']],
      ['\\', ['quoted', 'tool', 'deep']],
    ])('is found as it was meant, however it is spelled: %j', async (text, ids) => {
      expect(await found(text)).toEqual(ids);
      expect(await found(text, true)).toEqual(ids);
      expect(await found(text, false, 'attributes')).toEqual(ids);
    });

    it.each<[string, string[]]>([
      ['WORLD / TEA', ['plain', 'escaped']],
      ['ÉTÉ', ['html']],
      ['été', ['html']],
      ['ж', ['html']],
      ['CAFÉ', ['deep']],
      ['<B>bold', ['html']],
      ['SAY "HI"\nTHEN', ['tool']],
    ])('is found in any case: %j', async (text, ids) => {
      expect(await found(text, true)).toEqual(ids);
      expect(await found(text)).toEqual([]);
    });

    it('is found in a value of a document, in one that is a text, and where many are named', async () => {
      expect(await found('北京', false, 'inputs.messages')).toEqual(['tool']);
      expect(await found('say "hi"', false, 'inputs.messages.0.content')).toEqual(['tool']);
      expect(await found('C:\\new', false, 'inputs.q')).toEqual(['quoted']);
      expect(await found('C:\new', false, 'inputs.q')).toEqual([]);
      const contains = (field: string) => ({
        $contains: { input: { $getField: field }, substr: { $literal: '你好' } },
      });
      const fields = ['inputs', 'output', 'attributes', 'summary', 'inputs.q', 'inputs.a'];
      expect(await calls.idsOf({ query: { $expr: { $or: fields.map(contains) } } })).toEqual([
        'plain',
        'escaped',
      ]);
    });

    it('is not found in what does not say it', async () => {
      const not = (text: string) => ({
        query: {
          $expr: {
            $not: [{ $contains: { input: { $getField: 'inputs' }, substr: { $literal: text } } }],
          },
        },
      });
      expect(await calls.idsOf(not('你好'))).not.toContain('escaped');
      expect(await calls.idsOf(not('北京'))).not.toContain('tool');
      expect(await calls.idsOf(not('nand'))).toContain('quoted');
    });

    it('may be long', async () => {
      const long = '"你\n'.repeat(600); // 3,000 bytes
      await send({ long: `{"q":${JSON.stringify(long).replaceAll('你', String.raw`\u4f60`)}}` });
      expect(await found(long)).toEqual(['long']);
      expect(await found(long, true)).toEqual(['long']);
      expect(await found(`${long}.`)).toEqual([]);
    });

    it('finds refs whose slashes are escaped', async () => {
      const ref = `svc:///${calls.project_id}/object/x:2`;
      await send({ slashes: `{"ref":${JSON.stringify(ref).replaceAll('/', String.raw`\/`)}}` });
      expect(await calls.idsOf({ filter: { input_refs: [ref] } })).toEqual(['slashes']);
    });
  });

  it('finds calls whose parent is not stored, until it is', async () => {
    const child = { parent_id: 'late', trace_id: 't3', op_name: 'plain' };
    await calls.start({ ...child, id: 'e', started_at: at(10) });
    await calls.start({ ...child, id: 'f', started_at: at(11), parent_id: 'e' });
    const orphans = () => calls.idsOf({ filter: { orphans_only: true } });
    expect(await orphans()).toEqual(['e']);
    await calls.end({ id: 'late' }); // the start is missing
    expect(await orphans()).toEqual(['e']);
    await calls.start({ id: 'late', trace_id: 't3', started_at: at(9) });
    expect(await orphans()).toEqual([]);
  });

  it('finds and sorts by the tokens that a call says, cached ones among its input', async () => {
    const usage = (input: number, output: number, cached: number) => ({
      usage: {
        claude: {
          input_tokens: input,
          output_tokens: output,
          cache_read_input_tokens: cached,
        },
        house: { prompt_tokens: 1, completion_tokens: 1 },
      },
    });
    await calls.end({ id: 'a', summary: usage(10, 5, 100) });
    await calls.end({ id: 'b', summary: usage(1000, 2, 0) });
    const more = (kind: string, than: number) => ({
      query: {
        $expr: { $gt: [{ $getField: `summary.svc.${kind}_tokens` }, { $literal: than }] },
      },
    });
    expect(await calls.idsOf(more('input', 110))).toEqual(['a', 'b']);
    expect(await calls.idsOf(more('output', 5))).toEqual(['a']);
    expect(await calls.idsOf(more('total', 117))).toEqual(['b']);
    const sort_by = [{ field: 'summary.svc.total_tokens', direction: 'desc' }];
    expect(await calls.idsOf({ sort_by })).toEqual(['b', 'a', 'c', 'd']);
  });

  it('finds numbers that no double holds, in whatever spelling', async () => {
    const { project_id } = calls;
    const starts = ['9007199254740992', '9007199254740993', '0.12345678901234567', '1e400'];
    for (const [n, number] of starts.entries())
      await app.post(
        '/call/start',
        `{"start":${JSON.stringify(aStart({ project_id, id: `n${n}`, inputs: { n: 'N' } })).replace('"N"', number)}}`,
      );
    const found = async (condition: string) => {
      const answer = await app.post(
        '/calls/query',
        `{"project_id":"${project_id}","columns":["id"],"query":{"$expr":${condition}}}`,
      );
      return answer.body.calls.map(({ id }: { id: string }) => id);
    };
    const n = '{"$getField":"inputs.n"}';
    expect(await found(`{"$eq":[${n},{"$literal":9007199254740993}]}`)).toEqual(['n1']);
    expect(await found(`{"$gt":[${n},{"$literal":9007199254740992}]}`)).toEqual(['n1', 'n3']);
    expect(await found(`{"$in":[${n},[{"$literal":9007199254740993},{"$literal":7}]]}`)).toEqual([
      'n1',
    ]);
    expect(await found(`{"$lte":[${n},{"$literal":0.12345678901234567}]}`)).toEqual(['n2']);
    expect(
      await found(`{"$and":[7],"$and":[{"$eq":[${n},{"$literal":9007199254740993}]}]}`),
    ).toEqual(['n1']);
  });

  it('sorts by columns and inside free-form JSON, nulls last, the id last of all', async () => {
    expect(await calls.idsOf({ sort_by: [{ field: 'started_at', direction: 'desc' }] })).toEqual([
      'd',
      'c',
      'b',
      'a',
    ]);
    expect(await calls.idsOf({ sort_by: [{ field: 'op_name', direction: 'asc' }] })).toEqual([
      'c',
      'd',
      'a',
      'b',
    ]);
    expect(await calls.idsOf({ sort_by: [{ field: 'svc_run_step', direction: 'desc' }] })).toEqual([
      'c',
      'a',
      'b',
      'd',
    ]);
    expect(
      await calls.idsOf({ sort_by: [{ field: 'inputs.model.name', direction: 'asc' }] }),
    ).toEqual(['c', 'a', 'b', 'd']);
  });

  it('pages', async () => {
    expect(await calls.idsOf({ limit: 2, offset: 1 })).toEqual(['b', 'c']);
    expect(await calls.idsOf({ limit: 0 })).toEqual([]);
    expect(
      (await app.post('/calls/query_stats', { project_id: calls.project_id, limit: 3 })).body,
    ).toEqual({
      count: 3,
      has_more: true,
    });
    expect(
      (await app.post('/calls/query_stats', { project_id: calls.project_id, limit: 4 })).body,
    ).toEqual({
      count: 4,
      has_more: false,
    });
  });

  it('answers the columns asked for, and those that are always there', async () => {
    const [call] = await calls.stream({
      columns: ['inputs.model.name', 'parent_id'],
      filter: { call_ids: ['c'] },
    });
    expect(Object.keys(call).toSorted()).toEqual([
      'id',
      'inputs',
      'op_name',
      'parent_id',
      'project_id',
      'started_at',
      'trace_id',
    ]);
  });

  it('answers the operation of a span only to those who name it', async () => {
    await app.query(
      `UPDATE calls SET operation = 'execute_tool' WHERE project_id = $1 AND id = 'c'`,
      [calls.project_id],
    );
    const filter = { call_ids: ['c'] };
    expect(await calls.stream({ filter, columns: ['operation'] })).toMatchObject([
      { operation: 'execute_tool' },
    ]);
    expect((await calls.stream({ filter }))[0]).not.toHaveProperty('operation');
    const query = { $expr: { $eq: [{ $getField: 'operation' }, { $literal: 'execute_tool' }] } };
    expect(await calls.idsOf({ query })).toEqual(['c']);
  });

  it('answers the same calls as one object', async () => {
    const { body } = await app.post('/calls/query', { project_id: calls.project_id, limit: 2 });
    expect(body.calls).toEqual(await calls.stream({ limit: 2 }));
    expect((await app.post('/calls/query', { project_id: 'acme/nothing' })).body).toEqual({
      calls: [],
    });
  });

  it('answers every field of a call', async () => {
    expect(await calls.read('d')).toEqual({
      id: 'd',
      project_id: calls.project_id,
      op_name: 'plain',
      display_name: 'shown',
      trace_id: 't2',
      parent_id: null,
      thread_id: null,
      turn_id: null,
      started_at: '2026-01-01T00:00:03.000000Z',
      ended_at: expect.any(String),
      exception: null,
      attributes: {},
      inputs: {},
      output: { ref: `svc:///${calls.project_id}/object/y:2` },
      summary: {
        // the end is before the start, so the duration is unknown
        svc: { status: 'success', latency_ms: null, trace_name: 'shown' },
      },
      svc_user_id: 'ada',
      svc_run_id: null,
      svc_run_step: null,
      svc_run_step_end: null,
      deleted_at: null,
    });
    expect((await calls.read('a')).summary.svc.trace_name).toBe('run');
    expect((await calls.read('c')).summary.svc.trace_name).toBe('plain');
  });

  it('an empty stream is 200 with an empty body', async () => {
    const answer = await app.post('/calls/stream_query', { project_id: 'acme/nothing' });
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([
      200,
      '',
      'application/jsonl',
    ]);
  });

  it('a stream is x-ndjson for who asks for it', async () => {
    const answer = await app.post(
      '/calls/stream_query',
      { project_id: calls.project_id },
      { headers: { accept: 'application/x-ndjson' } },
    );
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
  });

  it.each<[string, object]>([
    ['limit', { limit: -1 }],
    ['offset', { offset: 'x' }],
    ['limit', { limit: 1.5 }],
    ['filter.trace_ids', { filter: { trace_ids: 't1' } }],
    ['filter.trace_ids[1]', { filter: { trace_ids: ['x', 5] } }],
    ['filter.call_ids', { filter: { call_ids: Array.from({ length: 1001 }, String) } }],
    ['filter', { filter: [] }],
    ['sort_by[0].direction', { sort_by: [{ field: 'id', direction: 'up' }] }],
    ['sort_by[0].field', { sort_by: [{ field: 'id; DROP TABLE calls', direction: 'asc' }] }],
    ['columns[0]', { columns: ['secret'] }],
    ['filter.input_refs[1]', { filter: { input_refs: ['a', 'a"b'] } }],
    ['filter.output_refs', { filter: { output_refs: Array(1001).fill('"') } }],
    ['query', { query: 'x' }],
    ['query.$expr', { query: { $expr: { $nope: [] } } }],
    ['project_id', { project_id: 'x' }],
  ])('refuses a bad %s: %j', async (path, query) => {
    for (const operation of ['/calls/stream_query', '/calls/query'])
      expect(await app.post(operation, { project_id: calls.project_id, ...query })).toMatchObject({
        status: 400,
        body: { errors: [{ path }] },
      });
  });

  it('never reads another project, however true the query is', async () => {
    const always = {
      $expr: {
        $or: [{ $literal: true }, { $eq: [{ $getField: 'project_id' }, { $literal: 'x' }] }],
      },
    };
    const projectsSeen = (await calls.stream({ query: always })).map((call) => call.project_id);
    expect(new Set(projectsSeen)).toEqual(new Set([calls.project_id]));
  });

  it('reads a large call on a connection that may be held for long, a small one on any', async () => {
    const inputs = { text: randomBytes(1_000_000).toString('base64') }; // random bytes do not compress
    await calls.start({ id: 'large', inputs });
    await calls.start({ id: 'small', inputs: { text: 'x'.repeat(100_000) } });
    const taken = jest.spyOn(ConnectionSlots.prototype, 'take');
    const takenByKeys = () => taken.mock.calls.filter(([key]) => key !== ''); // '' is the owner of the service's own statements
    expect((await calls.read('small')).inputs.text).toHaveLength(100_000);
    expect(takenByKeys()).toEqual([]);
    expect((await calls.read('large')).inputs).toEqual(inputs);
    expect(takenByKeys()).toHaveLength(2); // a slot for large reads, then a connection
    taken.mockRestore();
  });

  it('reads null for a call that is not there', async () => {
    expect(
      await app.post('/call/read', { project_id: calls.project_id, id: 'nope' }),
    ).toMatchObject({
      status: 200,
      body: { call: null },
    });
  });

  unlessCluster('plans are those of one node').it(
    'reads the newest roots in order, however many calls the project has',
    async () => {
      await app.query(
        `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at)
       SELECT $1, 'c' || n, 't' || n / 10, nullif(n % 10, 0), 'op', now() + n * interval '1 s' FROM generate_series(1, 60000) n`,
        [calls.project_id],
      );
      await app.query('VACUUM ANALYZE calls');
      const query = { project_id: calls.project_id, limit: 50, filter: { trace_roots_only: true } };
      const { text, values } = callRows(query).query.toQuery();
      const plan = await app.query(`EXPLAIN ${text}`, values);
      const reads = plan.map((line) => line['QUERY PLAN'] as string);
      const lines = reads.filter((line) => / on calls[^ ]* (?!p[ _])/.test(line)); // parents are found by primary key
      expect(lines.length).toBeGreaterThan(0);
      for (const line of lines)
        expect(line).toMatch(/Index Scan( Backward)? using calls_(started|roots)_idx/);
    },
  );
});
