// Bodies that are small on the wire, but large, deep or with very many values after decoding.
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { aBatch, AT, COMPRESS, field, FORM, many, multipart, PROJECT, times } from '../client.mjs';

const MIB = 1024 * 1024;
const PROTOBUF = { 'content-type': 'application/x-protobuf', project_id: PROJECT };
const DOCUMENT = JSON.parse(
  readFileSync(new URL('../../../generated/openapi.json', import.meta.url), 'utf8'),
);
/** Every POST route that takes JSON, with invented names in its path. An admin may call each. */
const ROUTES = Object.entries(DOCUMENT.paths)
  .filter(([, { post }]) => post?.requestBody?.content['application/json'])
  .map(([path]) =>
    path
      .replace('{entity}/{project}', PROJECT)
      .replace(/\{\w+\}/, '01a1fbba-743b-723b-b02b-37618ef9c2cd'),
  );
/** ExportTraceServiceRequest with one scope of `count` empty spans. */
const emptySpans = (count) => field(1, field(2, Buffer.alloc(2 * count, Buffer.from([0x12, 0]))));
const tableOf = (count) =>
  `{"table":{"project_id":"${PROJECT}","rows":[${'{},'.repeat(count - 1)}{}]}}`;

export const cases = [
  {
    name: 'bodies: 8 KB of gzip with 4 million empty spans',
    isQuick: true,
    attack: (it) =>
      it.send('/otel/v1/traces', gzipSync(emptySpans(4_000_000)), {
        headers: { ...PROTOBUF, 'content-encoding': 'gzip' },
      }),
  },
  {
    name: 'bodies: protobuf with millions of resources, scopes, attributes, events, and 10,000 levels',
    async attack(it) {
      const repeated = (tag, count) => Buffer.alloc(2 * count, Buffer.from([tag, 0]));
      const value = (depth) => {
        let bytes = Buffer.from([0x0a, 0]);
        for (let i = 0; i < depth; i++) bytes = field(5, field(1, bytes));
        return bytes;
      };
      for (const bytes of [
        repeated(0x0a, 4_000_000),
        field(1, repeated(0x12, 4_000_000)),
        field(1, field(1, repeated(0x0a, 4_000_000))),
        field(1, field(2, field(2, repeated(0x4a, 4_000_000)))),
        field(1, field(2, field(2, repeated(0x5a, 4_000_000)))),
        field(1, field(2, field(2, field(9, field(2, value(10_000)))))),
        field(1, field(2, field(2, field(9, field(2, field(5, repeated(0x0a, 4_000_000))))))),
      ])
        await it.send('/v1/traces', bytes, { headers: PROTOBUF, compress: 'gzip' });
    },
  },
  {
    name: 'bodies: OTLP/JSON with two million empty spans',
    attack: (it) =>
      it.send(
        '/v1/traces',
        `{"resourceSpans":[{"scopeSpans":[{"spans":[${'{},'.repeat(2_000_000)}{}]}]}]}`,
        {
          headers: { project_id: PROJECT },
          compress: 'gzip',
        },
      ),
  },
  {
    name: 'bodies: a table of a million empty rows',
    attack: (it) => it.send('/table/create', tableOf(1_000_000), { compress: 'gzip' }),
  },
  {
    name: 'bodies: 16 tables of ten million empty rows at once',
    async attack(it) {
      const bytes = gzipSync(tableOf(10_000_000));
      await Promise.all(
        times(16, () =>
          it.send('/table/create', bytes, { headers: { 'content-encoding': 'gzip' } }),
        ),
      );
    },
  },
  {
    name: 'bodies: 32 bodies of 31 MiB of small JSON elements at once',
    async attack(it) {
      const bytes = gzipSync(
        `{"start":{"project_id":"${PROJECT}","op_name":"x","started_at":"${AT}","inputs":{"a":[${'{},'.repeat(10_000_000)}{}]}}}`,
      );
      await Promise.all(
        times(32, () => it.send('/call/start', bytes, { headers: { 'content-encoding': 'gzip' } })),
      );
    },
  },
  {
    name: 'bodies: ten million wrong items where items are judged one by one',
    async attack(it) {
      for (const [route, text] of [
        ['/call/upsert_batch', `{"batch":[${'0,'.repeat(10_000_000)}0]}`],
        ['/v2/acme/attack/calls/complete', `{"batch":[${'0,'.repeat(10_000_000)}0]}`],
        ['/feedback/batch/create', `{"batch":[${'0,'.repeat(10_000_000)}0]}`],
        [
          '/table/update',
          `{"project_id":"${PROJECT}","base_digest":"x","updates":[${'0,'.repeat(10_000_000)}0]}`,
        ],
        [
          '/table/create_from_digests',
          `{"project_id":"${PROJECT}","row_digests":[${'0,'.repeat(10_000_000)}0]}`,
        ],
      ])
        await it.send(route, text, { compress: 'gzip' });
    },
  },
  {
    name: 'bodies: bombs of gzip, deflate and br on every route',
    async attack(it) {
      const zeros = Buffer.alloc(64 * MIB, ' ');
      const bombs = Object.entries(COMPRESS).map(([name, compress]) => [name, compress(zeros)]);
      for (const route of ROUTES)
        for (const [name, bytes] of bombs) {
          const { status } = await it.send(route, bytes, {
            headers: { 'content-encoding': name },
            as: 'admin',
          });
          it.must(
            [400, 404, 413, 503].includes(status),
            `${route} answered ${status} to a bomb of ${name}`,
          );
        }
    },
  },
  {
    name: 'bodies: a bomb in every encoding on the file route stops when it is refused',
    async attack(it) {
      for (const [name, compress] of Object.entries(COMPRESS)) {
        const part = compress(
          Buffer.concat([
            Buffer.from(
              '--attack\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n',
            ),
            Buffer.alloc(200 * MIB),
          ]),
        );
        const { status } = await it.send('/file/create', part, {
          headers: { ...FORM, 'content-encoding': name },
        });
        const before = it.service.cpuSeconds();
        await pause(1500);
        const used = it.service.cpuSeconds() - before;
        it.must(
          used < 1,
          `${name}: ${used.toFixed(1)} s of CPU in the 1.5 s after the answer ${status}`,
        );
      }
    },
  },
  {
    name: 'bodies: inflated bytes in form fields and unnamed parts',
    async attack(it) {
      const large = Buffer.alloc(300 * MIB);
      const parts = [
        multipart([
          ['project_id', PROJECT],
          ['expected_digest', large.toString('latin1')],
          ['file', Buffer.from('x')],
        ]),
        multipart([
          ['project_id', PROJECT],
          ['other', large],
          ['file', Buffer.from('x')],
        ]),
        Buffer.concat([
          large,
          multipart([
            ['project_id', PROJECT],
            ['file', Buffer.from('x')],
          ]),
        ]),
      ].map((bytes) => gzipSync(bytes));
      for (const bytes of parts)
        await it.send('/file/create', bytes, { headers: { ...FORM, 'content-encoding': 'gzip' } });
    },
  },
  {
    name: 'bodies: a form of 100,000 fields, of 100,000 files, without an end',
    async attack(it) {
      const file = ['file', Buffer.from('x')];
      await it.send('/file/create', multipart([...times(100_000, (i) => [`f${i}`, 'x']), file]), {
        headers: FORM,
      });
      await it.send('/file/create', multipart(times(100_000, (i) => [`f${i}`, Buffer.from('x')])), {
        headers: FORM,
      });
      await it.send('/file/create', multipart(times(100_000, () => file)), { headers: FORM });
      await it.send('/file/create', multipart([file]).subarray(0, -6), { headers: FORM });
      await it.send(
        '/file/create',
        Buffer.from(`--attack\r\n${'x-header: y\r\n'.repeat(200_000)}`),
        { headers: FORM },
      );
      await it.send('/file/create', '{}', {
        headers: { 'content-type': `multipart/form-data; boundary=${'-'.repeat(5000)}` },
      });
    },
    answers: [400, 413],
  },
  {
    name: 'bodies: a million levels of JSON on every route',
    isQuick: true,
    async attack(it) {
      await many(ROUTES.length, 4, async (i) => {
        const route = ROUTES[i];
        const as = 'admin';
        await it.send(route, '['.repeat(1_000_000), { as });
        await it.send(route, `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`, { as });
        await it.send(route, `${'['.repeat(200_000)}${']'.repeat(200_000)}`, { as });
      });
    },
  },
  {
    name: 'bodies: free-form documents that are deep, wide, repeated and odd',
    async attack(it) {
      const documents = [
        `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
        `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`,
        `{${times(100_000, (i) => `"k${i}":${i}`)}}`,
        `{${times(100_000, () => '"same":1')}}`,
        '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1,"hasOwnProperty":2}',
        `{"n":${'9'.repeat(1_000_000)}}`,
        '{"n":1e-999999999,"m":-0.0e+99999999}',
        `{"s":"${'\\u0000'.repeat(100_000)}"}`,
        `{"s":"${'\\ud800'.repeat(100_000)}"}`,
        `{"s":"${'\\\\'.repeat(500_000)}"}`,
        `{"${'k'.repeat(1_000_000)}":1}`,
        `{"_type":"${'x'.repeat(1_000_000)}","_bases":[${'"Object",'.repeat(100_000)}"Object","BaseModel"],"_class_name":"${'c'.repeat(1_000_000)}","weave_type":{"type":"Op"}}`,
      ];
      for (const text of documents) {
        await it.send(
          '/call/start',
          `{"start":{"project_id":"${PROJECT}","op_name":"x","started_at":"${AT}","inputs":${text},"attributes":${text}}}`,
        );
        await it.send(
          '/call/end',
          `{"end":{"project_id":"${PROJECT}","id":"x","ended_at":"${AT}","summary":${text},"output":${text}}}`,
        );
        await it.send(
          '/call/upsert_batch',
          `{"batch":[{"mode":"start","req":{"start":{"project_id":"${PROJECT}","op_name":"x","started_at":"${AT}","inputs":${text}}}}]}`,
        );
        await it.send(
          '/obj/create',
          `{"obj":{"project_id":"${PROJECT}","object_id":"odd","val":${text}}}`,
        );
        await it.send('/table/create', `{"table":{"project_id":"${PROJECT}","rows":[${text}]}}`);
        await it.send(
          '/feedback/create',
          `{"project_id":"${PROJECT}","svc_ref":"svc:///${PROJECT}/call/x","feedback_type":"odd","payload":${text}}`,
        );
        await it.send('/cost/create', `{"project_id":"${PROJECT}","costs":${text}}`);
        await it.send('/graphql', `{"query":"{viewer{username}}","variables":${text}}`);
      }
      for (const route of ['/calls/query', '/objs/query', '/feedback/query'])
        await it.send(route, { project_id: PROJECT, include_costs: true });
    },
  },
  {
    name: 'bodies: a body in chunks of one byte',
    isQuick: true,
    async attack(it) {
      const text = JSON.stringify(aBatch([{ inputs: { text: 'x'.repeat(300_000) } }]));
      const chunks = Buffer.from(
        Array.from(text, (byte) => `1\r\n${byte}\r\n`).join('') + '0\r\n\r\n',
      );
      const head = it.head('/call/upsert_batch', {
        'content-type': 'application/json',
        'transfer-encoding': 'chunked',
        connection: 'close',
      });
      await Promise.all(times(8, () => it.raw(Buffer.concat([Buffer.from(head), chunks]), 20_000)));
    },
    answers: [400],
  },
  {
    name: 'bodies: texts of 31 MiB in every place for a text',
    async attack(it) {
      const text = 'é'.repeat(15 * MIB);
      const started = { project_id: PROJECT, op_name: 'x', started_at: AT };
      for (const name of [
        'project_id',
        'op_name',
        'started_at',
        'id',
        'display_name',
        'trace_id',
        'thread_id',
        'svc_run_id',
      ])
        await it.send('/call/start', { start: { ...started, [name]: text } });
      await it.send('/refs/read_batch', { refs: [text] });
      await it.send('/feedback/create', {
        project_id: PROJECT,
        svc_ref: text,
        feedback_type: text,
        payload: { text },
      });
      await it.send('/graphql', { query: text });
      await it.send('/call/end', {
        end: { project_id: PROJECT, id: 'x', ended_at: AT, exception: text },
      });
    },
    answers: [400, 413],
  },
  {
    name: 'worst-case-bodies: 64 connections of one key for the time of --seconds',
    deadlineMs: 300_000,
    async attack(it) {
      const { seconds } = it.options;
      await it.service.probe.report();
      await pause(Math.min(seconds, 15) * 1000);
      const before = (await it.service.probe.report()).start;
      /** @returns {[Buffer, object]} */
      const zipped = (text) => [gzipSync(text), { headers: { 'content-encoding': 'gzip' } }];
      /** @type {[path: string, body: unknown, options?: object][]} */
      const worst = [
        [
          '/otel/v1/traces',
          gzipSync(emptySpans(2_000_000)),
          { headers: { ...PROTOBUF, 'content-encoding': 'gzip' } },
        ],
        ['/table/create', ...zipped(tableOf(1_000_000))],
        ['/call/upsert_batch', ...zipped(`{"batch":[${'0,'.repeat(10_000_000)}0]}`)],
        [
          '/call/start',
          ...zipped(
            `{"start":{"project_id":"${PROJECT}","op_name":"x","started_at":"${AT}","inputs":{"a":[${'{},'.repeat(10_000_000)}{}]}}}`,
          ),
        ],
        [
          '/calls/query',
          ...zipped(
            JSON.stringify({
              project_id: PROJECT,
              query: {
                $expr: {
                  $and: times(300, (i) => ({
                    $eq: [{ $getField: `inputs.${'a.'.repeat(490)}${i}` }, { $literal: 1 }],
                  })),
                },
              },
            }),
          ),
        ],
        [
          '/obj/create',
          ...zipped(
            `{"obj":{"project_id":"${PROJECT}","object_id":"worst","val":[${'1.5,'.repeat(7_000_000)}1]}}`,
          ),
        ],
        ['/feedback/batch/create', ...zipped(`{"batch":[${'{},'.repeat(10_000_000)}{}]}`)],
        [
          '/file/create',
          gzipSync(multipart([['file', Buffer.alloc(8 * MIB)]])),
          { headers: { ...FORM, 'content-encoding': 'gzip' } },
        ],
      ];
      const until = performance.now() + seconds * 1000;
      await Promise.all(
        times(64, async (lane) => {
          for (let i = lane; performance.now() < until; i++) {
            const [path, body, options] = worst[i % worst.length];
            // a query stops after READ_TIMEOUT_SECONDS
            const { status, headers } = await it.send(path, body, {
              ...options,
              timeoutMs: 90_000,
            });
            if (status === 503) await pause(Number(headers['retry-after']) * 1000);
            if (!it.service.isAlive) return;
          }
        }),
      );
      const during = (await it.service.probe.report()).start;
      it.must(
        !during.statuses.cut && !during.statuses[503],
        `another key's /call/start meanwhile: ${JSON.stringify(during.statuses)}`,
      );
      const peak = it.service.isAlive ? it.service.mebibytes('VmHWM') : NaN;
      const ms = ({ p50, p99, count }) =>
        `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms of ${count}`;
      console.log(
        `    resident memory at most ${peak} MiB; /call/start of another key: ${ms(before)} before, ${ms(during)} during the attack`,
      );
    },
  },
];
