// Queries that compile to expensive SQL or have large answers.
import { AT, aBatch, aStart, PROJECT, times } from '../client.mjs';

const path = (i, length = 1000) => `inputs.${`${'abcdefgh'[i % 8]}.`.repeat(length / 2 - 8)}${i}`;
const query = (condition) => ({ project_id: PROJECT, query: { $expr: condition } });
const equal = (name) => ({ $eq: [{ $getField: name }, { $literal: 1 }] });
const paths = (count, length) => query({ $and: times(count, (i) => equal(path(i, length))) });
const ROUTES = ['/calls/query', '/calls/stream_query', '/calls/query_stats'];
/** Returns `count` characters: 500 letters that have an upper and a lower case, repeated. */
const letters = (count) =>
  String.fromCodePoint(...times(500, (i) => 0x100 + (i % 0x240))).repeat(count / 500);

export const cases = [
  {
    name: 'queries: 40 paths of 1,000 characters',
    isQuick: true,
    attack: (it) => it.send('/calls/query', paths(40)),
  },
  {
    name: 'queries: 333 paths of 1,000 characters',
    attack: (it) => it.send('/calls/query', paths(333)),
  },
  {
    name: 'queries: one path of 1,000,000 steps',
    isQuick: true,
    attack: (it) => it.send('/calls/query', paths(1, 2_000_000)),
    answers: [400],
  },
  {
    name: 'queries: sort_by 32 paths of 1,000 characters',
    attack: (it) =>
      it.send('/calls/query', {
        project_id: PROJECT,
        sort_by: times(32, (i) => ({ field: path(i), direction: 'asc' })),
      }),
  },
  {
    name: 'queries: sort_by 100,000 fields',
    async attack(it) {
      const sort_by = times(100_000, () => ({ field: 'created_at', direction: 'asc' }));
      for (const route of [
        ...ROUTES,
        '/objs/query',
        '/feedback/query',
        '/cost/query',
        '/threads/stream_query',
      ])
        if (route !== '/calls/query_stats') await it.send(route, { project_id: PROJECT, sort_by });
    },
    answers: [400],
  },
  {
    name: 'queries: 1,000 fields of 1,000 characters',
    async attack(it) {
      await it.send('/feedback/query', {
        project_id: PROJECT,
        fields: times(1000, (i) => path(i, 980).replace('inputs', 'payload')),
      });
      await it.send('/calls/query', {
        project_id: PROJECT,
        columns: times(1000, (i) => path(i, 980)),
      });
    },
  },
  {
    name: 'queries: $contains with case_insensitive and long literals',
    async attack(it) {
      const contains = (substr) => ({
        $contains: {
          input: { $getField: 'op_name' },
          substr: { $literal: substr },
          case_insensitive: true,
        },
      });
      await it.send('/calls/query', query(contains(letters(5_000_000))));
      await it.send('/calls/query', query({ $or: times(10, () => contains(letters(500_000))) }));
    },
  },
  {
    name: 'queries: $in with a long literal on the left',
    attack: (it) =>
      it.send(
        '/calls/query',
        query({
          $in: [{ $literal: 'x'.repeat(1_000_000) }, times(900, (i) => ({ $literal: `${i}` }))],
        }),
      ),
  },
  {
    name: 'queries: $in of 1,000 converted paths on both sides',
    attack: (it) =>
      it.send(
        '/calls/query',
        query({
          $in: [
            { $convert: { input: { $getField: 'inputs.a' }, to: 'double' } },
            times(900, (i) => ({ $getField: `inputs.a${i}` })),
          ],
        }),
        { timeoutMs: 90_000 }, // the statement is stopped after READ_TIMEOUT_SECONDS
      ),
    answers: [200, 503],
  },
  {
    name: 'queries: trees that are deep and wide',
    isQuick: true,
    async attack(it) {
      const nested = (depth, wrap) => {
        let tree = equal('inputs.a');
        for (let i = 0; i < depth; i++) tree = wrap(tree);
        return tree;
      };
      await it.send('/calls/query', query(nested(1000, (tree) => ({ $not: [tree] }))));
      await it.send(
        '/calls/query',
        query(nested(30, (tree) => ({ $eq: [tree, { $literal: true }] }))),
      );
      await it.send(
        '/calls/query',
        query(nested(30, (tree) => ({ $in: [tree, [tree, { $literal: 1 }].slice(1)] }))),
      );
      await it.send('/calls/query', query({ $and: times(249, (i) => equal(`inputs.f${i}`)) }));
      await it.send('/calls/query', query({ $and: times(1_000_000, () => ({})) }));
      await it.send(
        '/calls/query',
        `{"project_id":"${PROJECT}","query":{"$expr":${'{"$not":['.repeat(500_000)}`,
      );
    },
  },
  {
    name: 'queries: numbers and times at their ends',
    isQuick: true,
    async attack(it) {
      const project_id = 'acme/ends'; // its own project, because other cases have stored large data
      for (const a of [1, '1', '9'.repeat(1000)])
        await it.send('/call/start', { start: aStart({ project_id, inputs: { a } }) });
      const compared = (name, value) =>
        `{"project_id":"${project_id}","query":{"$expr":{"$gt":[{"$getField":"${name}"},{"$literal":${value}}]}}}`;
      for (const value of [
        '1e308',
        '-1e308',
        '1e999',
        '9'.repeat(100_000),
        `"${'9'.repeat(100_000)}"`,
        `0.${'0'.repeat(100_000)}1`,
        '"-infinity"',
        '"infinity"',
        '"9999-12-31T23:59:59-15:59"',
      ])
        for (const name of ['started_at', 'inputs.a', 'svc_run_step', 'op_name'])
          await it.send('/calls/query', compared(name, value));
      for (const limit of [-1, 2147483647, 2147483648, 1e308, 1.5, '1'])
        await it.send('/calls/query', { project_id: PROJECT, limit, offset: limit });
    },
  },
  {
    name: 'queries: lists of 1,000 long items everywhere, and of a million',
    async attack(it) {
      const filters = {
        '/calls/query': [
          'op_names',
          'input_refs',
          'output_refs',
          'parent_ids',
          'trace_ids',
          'call_ids',
          'thread_ids',
          'turn_ids',
          'svc_user_ids',
          'svc_run_ids',
        ],
        '/objs/query': [
          'object_ids',
          'base_object_classes',
          'exclude_base_object_classes',
          'leaf_object_classes',
        ],
        '/threads/stream_query': ['thread_ids'],
      };
      for (const [route, names] of Object.entries(filters)) {
        const all = Object.fromEntries(
          names.map((name) => [name, times(1000, (i) => `${i}`.padEnd(250, 'x'))]),
        );
        await it.send(route, { project_id: PROJECT, filter: all });
        for (const name of names)
          await it.send(route, {
            project_id: PROJECT,
            filter: { [name]: times(1_000_000, () => 'x') },
          });
      }
    },
  },
  {
    name: 'queries: a table of one row of 200 KB, 20,000 times',
    async attack(it) {
      const created = await it.send(
        '/table/create',
        `{"table":{"project_id":"${PROJECT}","rows":[{"a":1,"text":"${letters(100_000)}"}]}}`,
      );
      const row_digests = Array(20_000).fill(JSON.parse(created.text).row_digests[0]);
      const made = await it.send('/table/create_from_digests', {
        project_id: PROJECT,
        row_digests,
      });
      const { digest } = JSON.parse(made.text);
      const sort_by = [{ field: 'a', direction: 'asc' }];
      await it.send('/table/query', { project_id: PROJECT, digest, sort_by, limit: 1 });
      await it.send('/table/query_stats_batch', {
        project_id: PROJECT,
        digests: times(1000, () => digest),
        include_storage_size: true,
      });
    },
    answers: [200],
  },
  {
    name: 'queries: 240 nested paths into a payload of 1 MiB',
    async attack(it) {
      let value = '"x"';
      for (let i = 0; i < 240; i++)
        value = `{"a":${value}${i === 0 ? `,"b":"${'y'.repeat(1_000_000)}"` : ''}}`;
      await it.send(
        '/feedback/create',
        `{"project_id":"${PROJECT}","svc_ref":"svc:///${PROJECT}/call/x","feedback_type":"big","payload":${value}}`,
      );
      const answer = await it.send('/feedback/query', {
        project_id: PROJECT,
        fields: times(240, (i) => `payload${'.a'.repeat(i + 1)}`),
        query: { $expr: { $eq: [{ $getField: 'feedback_type' }, { $literal: 'big' }] } },
      });
      it.must(answer.size < 32 * 1024 * 1024, `it answered ${answer.size} bytes`);
    },
  },
  {
    name: 'queries: 1,000 rows of 100 KiB in one answer, eight at a time',
    async attack(it) {
      const text = 'z'.repeat(100_000);
      for (let i = 0; i < 5; i++)
        await it.send(
          '/call/upsert_batch',
          aBatch(times(200, (n) => ({ id: `large-${i}-${n}`, inputs: { text } }))),
        );
      await Promise.all(
        times(8, () =>
          it.send('/calls/query', {
            project_id: PROJECT,
            include_costs: true,
            include_feedback: true,
          }),
        ),
      );
    },
  },
  {
    name: 'queries: 2,000 counts of all rows at 200 connections',
    async attack(it) {
      await it.send(
        '/call/upsert_batch',
        aBatch(times(10_000, (n) => ({ id: `row-${n}`, inputs: { n } }))),
      );
      const scan = {
        project_id: PROJECT,
        query: {
          $expr: { $contains: { input: { $getField: 'inputs' }, substr: { $literal: 'nowhere' } } },
        },
      };
      await Promise.all(
        times(200, async () => {
          for (let i = 0; i < 10; i++) await it.send('/calls/query_stats', scan);
        }),
      );
    },
  },
  {
    name: 'queries: prices and purges with an odd query',
    isQuick: true,
    async attack(it) {
      for (const route of ['/cost/purge', '/feedback/purge', '/cost/query', '/feedback/query'])
        for (const condition of [
          {},
          [],
          null,
          { $and: [] },
          { $literal: {} },
          { $getField: '__proto__' },
          { $getField: 'constructor.prototype' },
          { __proto__: 1, toString: [] },
          { $eq: [] },
          { $eq: { 0: 1, length: 2 } },
          { $getField: `id${'.a'.repeat(5000)}` },
          { $convert: { input: { $literal: AT }, to: '__proto__' } },
        ])
          await it.send(route, query(condition));
    },
    answers: [200, 400],
  },
];
