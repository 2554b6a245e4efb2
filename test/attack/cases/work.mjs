// Small requests that can cause much work: patterns from the client, chains, lists that are edited item by item.
import { setTimeout as pause } from 'node:timers/promises';
import { aBatch, AT, aStart, many, PROJECT, times } from '../client.mjs';

const MIB = 1024 * 1024;
const CATASTROPHIC = '^(([a-z])+.)+[A-Z]([a-z])+$';

/** Publishes a schema of annotations. Returns a function that makes feedback with a value of this schema. */
async function annotation(it, name, field_schema) {
  const { text } = await it.send('/obj/create', {
    obj: { project_id: PROJECT, object_id: name, val: { field_schema } },
  });
  const { digest } = JSON.parse(text);
  return (value) => ({
    project_id: PROJECT,
    svc_ref: `svc:///${PROJECT}/call/x`,
    feedback_type: `svc.annotation.${name}`,
    annotation_ref: `svc:///${PROJECT}/object/${name}:${digest}`,
    payload: { value },
  });
}

export const cases = [
  {
    name: 'work: annotation schemas with catastrophic patterns, 24 at once',
    isQuick: true,
    async attack(it) {
      const judged = await annotation(it, 'pattern', { type: 'string', pattern: CATASTROPHIC });
      const value = 'a'.repeat(60);
      await Promise.all(times(24, () => it.send('/feedback/create', judged(value))));
      const many = await Promise.all(
        times(20, (i) => annotation(it, `pattern${i}`, { pattern: `${CATASTROPHIC}|${i}` })),
      );
      await it.send('/feedback/batch/create', { batch: many.map((one) => one(value)) });
    },
  },
  {
    name: 'work: annotation schemas that are large, deep, circular and quadratic',
    async attack(it) {
      let deep = /** @type {unknown} */ (true);
      for (let i = 0; i < 1000; i++) deep = { allOf: [deep] };
      const list = times(30_000, (i) => ({ i }));
      for (const [name, schema, value] of [
        [
          'wide',
          {
            properties: Object.fromEntries(
              times(20_000, (i) => [`p${i}`, { type: 'string', pattern: `^${i}a*$` }]),
            ),
          },
          { p1: 'x' },
        ],
        ['any', { anyOf: times(20_000, (i) => ({ const: i })) }, 'x'],
        ['deep', deep, 1],
        ['circular', { $ref: '#' }, 1],
        [
          'circles',
          {
            $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } },
            $ref: '#/$defs/a',
          },
          1,
        ],
        ['unique', { uniqueItems: true }, list],
        ['enum', { items: { enum: list.slice(0, 5000) } }, list],
        ['names', { propertyNames: { pattern: CATASTROPHIC } }, { ['a'.repeat(60)]: 1 }],
        ['quantifier', { pattern: `${'(a{0,1000}'.repeat(10)}${')'.repeat(10)}` }, 'a'.repeat(50)],
        ['remote', { $ref: 'http://127.0.0.1:1/x' }, 1],
        ['async', { $async: true }, 1],
        [
          'proto',
          { properties: { ['__proto__']: { type: 'string' } }, required: ['__proto__'] },
          {},
        ],
      ]) {
        const judged = await annotation(it, name, schema);
        await Promise.all(times(6, () => it.send('/feedback/create', judged(value))));
      }
    },
  },
  {
    name: 'work: a chain of 10,000 starts without trace_id',
    isQuick: true,
    async attack(it) {
      const chain = (name, parent) =>
        times(10_000, (i) => ({ id: `${name}${i}`, parent_id: `${name}${parent(i)}` }));
      for (const starts of [
        chain('down', (i) => i - 1),
        chain('up', (i) => i + 1),
        chain('self', (i) => i),
        chain('ring', (i) => (i + 1) % 10_000),
        chain('one', () => 0),
        chain('down', (i) => i - 1).toReversed(),
      ])
        await it.send('/call/upsert_batch', aBatch(starts));
      await it.send('/calls/delete', {
        project_id: PROJECT,
        call_ids: ['down0', 'ring0', 'self0'],
      });
      await it.send('/calls/delete', {
        project_id: PROJECT,
        call_ids: times(1000, (i) => `one${i}`),
      });
    },
    answers: [200],
  },
  {
    name: 'work: one call 10,000 times in a batch, in 32 batches at once',
    async attack(it) {
      const body = aBatch(times(10_000, () => ({ id: 'same', inputs: { text: 'x'.repeat(500) } })));
      await Promise.all(times(32, () => it.send('/call/upsert_batch', body)));
    },
  },
  {
    name: 'work: emoji that go on and on',
    async attack(it) {
      for (const emoji of [
        '👍'.repeat(200_000),
        '👩‍'.repeat(100_000),
        '\u{1f3fb}'.repeat(200_000),
        '\ufe0f'.repeat(300_000),
        '👍🏽'.repeat(100_000),
        '',
        '\ud83d',
      ])
        await it.send('/feedback/create', {
          project_id: PROJECT,
          svc_ref: `svc:///${PROJECT}/call/x`,
          feedback_type: 'svc.reaction.1',
          payload: { emoji },
        });
    },
    answers: [400],
  },
  {
    name: 'work: prices with 100,000 digits and odd exponents',
    async attack(it) {
      for (const price of [
        '9'.repeat(100_000),
        `0.${'0'.repeat(100_000)}1`,
        '1e-999999999',
        '1e999999999',
        '1E+5',
        `1e-${'0'.repeat(100_000)}1`,
        '-0',
        '-0.0',
        '1e-41',
        'null',
        '"1"',
      ])
        await it.send(
          '/cost/create',
          `{"project_id":"${PROJECT}","costs":{"m":{"prompt_token_cost":${price},"completion_token_cost":1}}}`,
        );
      await it.send('/cost/create', {
        project_id: PROJECT,
        costs: Object.fromEntries(times(1_000_000, (i) => [`m${i}`, 1])),
      });
    },
    answers: [200, 400, 413],
  },
  {
    name: 'work: costs of calls with 100,000 models and numbers of 100,000 digits',
    async attack(it) {
      const usages = {
        many: `{${times(100_000, (i) => `"m${i}":{"prompt_tokens":1,"completion_tokens":1}`)}}`,
        digits: `{"m":{"prompt_tokens":${'9'.repeat(100_000)},"completion_tokens":1e-99999,"requests":1e99999}}`,
        deep: `{"m":${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}}`,
      };
      const call_ids = Object.keys(usages);
      for (const id of call_ids) {
        await it.send('/call/start', { start: aStart({ id }) });
        await it.send(
          '/call/end',
          `{"end":{"project_id":"${PROJECT}","id":"${id}","ended_at":"${AT}","summary":{"usage":${usages[id]}}}}`,
        );
        await it.send('/call/read', { project_id: PROJECT, id, include_costs: true });
      }
      await Promise.all(
        times(8, () => it.send('/cost/explain', { project_id: PROJECT, call_ids })),
      );
      await Promise.all(
        times(8, () =>
          it.send('/calls/query', {
            project_id: PROJECT,
            include_costs: true,
            filter: { call_ids },
          }),
        ),
      );
    },
  },
  {
    name: 'work: GraphQL with as many aliases, fragments and levels as 10,000 characters hold',
    isQuick: true,
    async attack(it) {
      const chain = times(
        150,
        (i) => `fragment f${i} on Query{...f${i + 1} ...f${(i * 7) % 150}}`,
      ).join('');
      for (const query of [
        `{${times(450, (i) => `a${i}:viewer{username}`)}}`,
        `{${'viewer{username}'.repeat(600)}}`,
        `{${'viewer{...on User{'.repeat(100)}username${'}}'.repeat(100)}}`,
        `{...f0}${chain}fragment f150 on Query{viewer{username}}`,
        '{...a}fragment a on Query{...b ...b}fragment b on Query{...a ...a}',
        `{viewer${'@include(if:true)'.repeat(580)}{username}}`,
        `{project(name:${'['.repeat(4900)}${']'.repeat(4900)}){name}}`,
        `query(${times(500, (i) => `$v${i}:Int`)}){viewer{username}}`,
        '{__schema{types{fields{type{fields{type{fields{type{fields{type{fields{type{name}}}}}}}}}}}}}',
        `{${'__schema{types{name}}'.repeat(470)}}`,
        `{__type(name:"${'x'.repeat(9900)}"){name}}`,
        '#'.repeat(9999),
      ])
        await Promise.all(times(8, () => it.send('/graphql', { query, variables: { v0: 1 } })));
    },
    answers: [200, 400],
  },
  {
    name: 'work: 1,000 refs of 4,000 characters into a deep value',
    async attack(it) {
      let val = /** @type {unknown} */ (1);
      for (let i = 0; i < 900; i++) val = { a: val };
      const { text } = await it.send('/obj/create', {
        obj: { project_id: PROJECT, object_id: 'deep', val },
      });
      const ref = (steps, i) =>
        `svc:///${PROJECT}/object/deep:${JSON.parse(text).digest}${'/key/a'.repeat(steps)}/key/${i}`;
      await it.send('/refs/read_batch', { refs: times(1000, (i) => ref(650, i)) });
      await it.send('/refs/read_batch', {
        refs: times(1000, (i) => `svc:///${PROJECT}/object/${i}:latest`),
      });
      await it.send('/refs/read_batch', { refs: times(1_000_000, () => 'x') });
      await it.send('/refs/read_batch', {
        refs: times(1000, () => `svc:///${PROJECT}/object/x:y${'/'.repeat(4000)}`),
      });
    },
  },
  {
    name: 'work: 1,000 refs to one value of 10 MB',
    async attack(it) {
      const { text } = await it.send('/obj/create', {
        obj: {
          project_id: PROJECT,
          object_id: 'ten',
          val: { a: times(1_000_000, (i) => i + 1e6) },
        },
      });
      const ref = `svc:///${PROJECT}/object/ten:${JSON.parse(text).digest}`;
      await it.send('/refs/read_batch', { refs: times(1000, (i) => `${ref}/key/a/index/${i}`) });
      const whole = await it.send('/refs/read_batch', { refs: times(50, () => ref) });
      it.must(
        [200, 400, 413].includes(whole.status),
        `50 whole values were answered ${whole.status}`,
      );
    },
  },
  {
    name: 'work: 500,000 edits of a table at its front',
    async attack(it) {
      const { text } = await it.send('/table/create', {
        table: { project_id: PROJECT, rows: times(100_000, (i) => ({ i })) },
      });
      const base_digest = JSON.parse(text).digest;
      await it.send('/table/update', {
        project_id: PROJECT,
        base_digest,
        updates: times(500_000, (i) => ({ insert: { index: 0, row: { i } } })),
      });
      await it.send('/table/update', {
        project_id: PROJECT,
        base_digest,
        updates: times(100_000, () => ({ pop: { index: 0 } })),
      });
      await it.send('/table/create_from_digests', {
        project_id: PROJECT,
        row_digests: times(500_000, () => 'x'.repeat(43)),
      });
      await it.send('/table/query', {
        project_id: PROJECT,
        digest: base_digest,
        sort_by: times(32, (i) => ({ field: `a.${i}`, direction: 'asc' })),
      });
    },
  },
  {
    name: 'work: digests of 24 MB of small values, of many keys and of one text, four at a time',
    async attack(it) {
      for (const val of [
        `[${'1.5,'.repeat(6 * MIB)}1]`,
        `{${times(1_000_000, (i) => `"key ${i}":${i}`)}}`,
        `"${'é'.repeat(12 * MIB)}"`,
        `[${'{},'.repeat(8 * MIB)}1]`,
      ])
        await Promise.all(
          times(4, (i) =>
            it.send(
              '/obj/create',
              `{"obj":{"project_id":"${PROJECT}","object_id":"large${i}","val":${val}}}`,
            ),
          ),
        );
    },
  },
  {
    name: 'work: 500 publishers of one name, beside 500 deletes',
    async attack(it) {
      const object_id = 'contested';
      await many(1000, 200, (i) =>
        i % 2
          ? it.send('/obj/delete', { project_id: PROJECT, object_id })
          : it.send('/obj/create', { obj: { project_id: PROJECT, object_id, val: i } }),
      );
    },
  },
  {
    name: 'work: trajectories of 32 MiB, in one text, in small parts and in deep ones',
    async attack(it) {
      const { text } = await it.send('/v1/preview/models', {
        entity: 'acme',
        project: 'attack',
        name: `big${Date.now()}`,
        base_model: 'Q',
      });
      const { id } = JSON.parse(text);
      for (const trajectory of [
        `{"messages_and_choices":[{"role":"user","content":"${'x'.repeat(31 * MIB)}"}]}`,
        `{"messages_and_choices":[${'{"role":"u"},'.repeat(2_500_000)}{"role":"u"}]}`,
        `{"metadata":{${times(1_000_000, (i) => `"k${i}":${i}`)}}}`,
        `{"logs":[${'"",'.repeat(8_000_000)}""]}`,
        `{"tools":[${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}]}`,
      ])
        await it.send(
          `/v1/preview/models/${id}/log`,
          `{"split":"s","trajectory_groups":[{"trajectories":[${trajectory}]}]}`,
        );
      await it.send(
        `/v1/preview/models/${id}/log`,
        `{"split":"s","trajectory_groups":[${'{},'.repeat(20_000_000)}{}]}`,
        { compress: 'gzip' },
      );
      await it.send(
        '/v1/preview/training-jobs',
        `{"model_id":"${id}","trajectory_groups":[{"trajectories":[${'{},'.repeat(3_000_000)}{}]}]}`,
        { compress: 'gzip' },
      );
      await it.send('/v1/preview/trajectories/query', {
        model_id: id,
        sort_by: times(32, (i) => ({ field: `metadata.k${i}`, direction: 'asc' })),
      });
      await pause(100);
    },
  },
];
