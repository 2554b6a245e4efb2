// Forged and guessed credentials, and repeated requests.
import { randomUUID } from 'node:crypto';
import { newSecret } from '../../../dist/src/platform/auth/keys/secret.js';
import { aStart, FORM, many, multipart, PROJECT, times } from '../client.mjs';

const object = (object_id, val) => ({ obj: { project_id: PROJECT, object_id, val } });
const COST = { prompt_token_cost: 1, completion_token_cost: 1 };

export const cases = [
  {
    name: 'keys: a token in the address, and the next request on the connection',
    isQuick: true,
    async attack(it) {
      const { attacker } = it.service.keys;
      const get = (path, header) => `GET ${path} HTTP/1.1\r\nhost: x\r\n${header}\r\n`;
      const wrong = `authorization: Basic ${Buffer.from('a:b').toString('base64')}\r\n`;
      const { statuses } = await it.raw(
        get(`/v1/preview/models?access_token=${attacker}`, wrong) +
          get('/v1/preview/models', wrong) +
          get('/v1/preview/models', ''),
        1500,
      );
      it.must(statuses.join() === '401,401,401', `answered ${statuses}`);
      const body = await it.send('/v1/preview/models', `access_token=${attacker}`, {
        headers: { authorization: '', 'content-type': 'application/x-www-form-urlencoded' },
      });
      it.must(body.status === 401, `a token in a body was answered ${body.status}`);
    },
    answers: [401, 429],
  },
  {
    name: 'keys: 1,000 keys that do not exist, from the address of the others',
    isQuick: true,
    async attack(it) {
      await many(1000, 100, () =>
        it.send('/calls/query', { project_id: PROJECT }, { as: newSecret() }),
      );
      const good = await it.send('/calls/query', { project_id: PROJECT });
      it.must(good.status === 200, `a good key behind them was answered ${good.status}`);
      it.must((it.statuses[429] ?? 0) > 900, 'failed attempts are not limited');
    },
    answers: [200, 401, 429],
  },
  {
    name: 'keys: headers that are no credentials',
    isQuick: true,
    async attack(it) {
      const basic = (text) => `Basic ${Buffer.from(text).toString('base64')}`;
      for (const authorization of [
        'Basic',
        'Basic ',
        `Basic ${'A'.repeat(12_000)}`,
        basic(':'),
        basic(`a:${'é'.repeat(4000)}`),
        basic('a:skn_\0'),
        basic(`${'u'.repeat(8000)}:${newSecret()}`),
        'Bearer',
        `Bearer ${'x '.repeat(4000)}`,
        'Digest username="x"',
        ' '.repeat(8000),
      ])
        for (const path of ['/calls/query', '/v1/preview/models', '/v1/traces'])
          await it.send(path, {}, { headers: { authorization } });
    },
    answers: [401, 429],
  },
  {
    name: 'keys: X-Weave-Retry-Id is not an Idempotency-Key',
    isQuick: true,
    async attack(it) {
      const headers = { 'x-weave-retry-id': randomUUID() };
      const ids = [];
      for (const llm_id of ['a', 'b', 'a', 'a']) {
        const { status, text } = await it.send(
          '/cost/create',
          { project_id: PROJECT, costs: { [llm_id]: COST } },
          { headers },
        );
        if (status === 200) ids.push(JSON.parse(text).ids[0][0]);
      }
      it.must(new Set(ids).size === 4, `4 requests with one id stored ${new Set(ids).size} prices`);
    },
    answers: [200],
  },
  {
    name: 'keys: a late resend of a publish and of a delete changes nothing',
    isQuick: true,
    async attack(it) {
      const name = `late-${Date.now()}`;
      const read = async () =>
        JSON.parse(
          (await it.send('/obj/read', { project_id: PROJECT, object_id: name, digest: 'latest' }))
            .text,
        );
      const publish = { headers: { 'idempotency-key': randomUUID() } };
      await it.send('/obj/create', object(name, 1), publish);
      await it.send('/obj/create', object(name, 2));
      await it.send('/obj/create', object(name, 1), publish);
      it.must((await read()).obj?.val === 2, 'a repeated publish moved latest back');
      const remove = { headers: { 'idempotency-key': randomUUID() } };
      await it.send('/obj/delete', { project_id: PROJECT, object_id: name }, remove);
      await it.send('/obj/create', object(name, 3));
      await it.send('/obj/delete', { project_id: PROJECT, object_id: name }, remove);
      it.must((await read()).obj?.val === 3, 'a repeated delete replayed');
    },
    answers: [200],
  },
  {
    name: 'keys: one Idempotency-Key 500 times at once, and 1,000 different ones',
    async attack(it) {
      const body = { project_id: PROJECT, costs: { flood: COST } };
      const key = randomUUID();
      const ids = new Set();
      await many(500, 200, async () => {
        const { status, text } = await it.send('/cost/create', body, {
          headers: { 'idempotency-key': key },
        });
        if (status === 200) ids.add(text);
      });
      it.must(ids.size === 1, `one key got ${ids.size} answers`);
      await many(1000, 200, () =>
        it.send('/cost/create', body, { headers: { 'idempotency-key': randomUUID() } }),
      );
      for (const odd of ['', ' ', 'x'.repeat(257), 'é'.repeat(200)])
        await it.send('/cost/create', body, {
          headers: { 'idempotency-key': Buffer.from(odd).toString('latin1') },
        });
    },
    answers: [200, 400, 409, 429, 503],
  },
  {
    name: 'keys: 100,000 projects, threads and names',
    async attack(it) {
      for (let i = 0; i < 10; i++) {
        const starts = times(10_000, (n) => ({
          mode: 'start',
          req: {
            start: aStart({
              project_id: `acme/p${i}-${n}`,
              id: 'x',
              thread_id: `t${n}`,
              turn_id: 'x',
            }),
          },
        }));
        await it.send('/call/upsert_batch', { batch: starts });
        await it.send('/call/upsert_batch', {
          batch: times(10_000, (n) => ({
            mode: 'start',
            req: {
              start: aStart({ id: `x${i}-${n}`, thread_id: `t${i}-${n}`, turn_id: `x${i}-${n}` }),
            },
          })),
        });
      }
      await it.send('/threads/stream_query', { project_id: PROJECT });
      await it.send('/threads/stream_query', {
        project_id: PROJECT,
        sort_by: [{ field: 'p99_turn_duration_ms', direction: 'desc' }],
        limit: 10,
      });
    },
  },
  {
    name: 'keys: projects of others, by every way that names one',
    isQuick: true,
    async attack(it) {
      const project_id = 'other/project';
      const ref = `svc:///${project_id}/object/x:latest`;
      const asked = [
        await it.send('/calls/query', { project_id }),
        await it.send('/call/upsert_batch', {
          batch: [{ mode: 'start', req: { start: aStart({ project_id }) } }],
        }),
        await it.send('/refs/read_batch', { refs: [ref] }),
        await it.send('/feedback/batch/create', {
          batch: [{ project_id, svc_ref: ref, feedback_type: 'x', payload: {} }],
        }),
        await it.send('/v2/other/project/call/start', { start: aStart() }),
        await it.send(
          '/v1/traces',
          { resourceSpans: [{ scopeSpans: [{ spans: [{}] }] }] },
          { headers: { project_id } },
        ),
        await it.send(
          '/file/create',
          multipart([
            ['project_id', project_id],
            ['file', Buffer.from('x')],
          ]),
          { headers: FORM },
        ),
        await it.send('/v1/preview/models', {
          entity: 'other',
          project: 'project',
          name: 'x',
          base_model: 'x',
        }),
        await it.send('/calls/query', `{"project_id":"${PROJECT}","project_id":"${project_id}"}`),
        await it.send('/keys/list', {}),
      ];
      for (const [i, { status, text }] of asked.entries())
        it.must(
          [403, 404].includes(status) || /"code":"(forbidden|not_found)"/.test(text),
          `way ${i} answered ${status} ${text.slice(0, 200)}`,
        );
    },
    answers: [200, 403, 404],
  },
];
