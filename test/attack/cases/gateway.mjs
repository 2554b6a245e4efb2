// Attacks on the gateway: providers with bad answers, and small requests that ask for much work.
import { many, PROJECT, times } from '../client.mjs';
import { PROVIDER_KEY, RAW_NAMES, STREAMS, WHOLE } from '../models.mjs';

const CHAT = '/v1/chat/completions';
/** 502 means that the provider failed. */
const ANSWERS = [200, 400, 404, 413, 429, 502, 503, 'cut'];

const chat = (it, mode, more = {}) =>
  it.send(
    CHAT,
    { model: 'm', messages: [{ role: 'user', content: mode }], ...more },
    { headers: { 'x-skein-project': PROJECT } },
  );

const create = (it, inputs) => it.send('/completions/create', { project_id: PROJECT, inputs });

/** Reads the stored call of a gateway request. */
const stored = (it, { headers }, columns) =>
  it.send('/calls/query', {
    project_id: PROJECT,
    filter: { call_ids: [headers['x-skein-call-id']] },
    columns,
  });

export const cases = [
  {
    name: 'gateway: whole answers that are deep, heavy, long and no JSON',
    answers: ANSWERS,
    async attack(it) {
      for (const mode of Object.keys(WHOLE)) {
        const answer = await chat(it, mode);
        it.must(answer.status !== 'cut', `${mode} was cut`);
        const { text } = await stored(it, answer, ['ended_at']);
        it.must(/"ended_at":"/.test(text), `the call of ${mode} has no end`);
      }
      const { text } = await create(it, {
        model: 'm',
        messages: [{ role: 'user', content: 'no JSON' }],
      });
      it.must(!text.includes('of another'), 'a provider added members to our answer');
    },
  },
  {
    name: 'gateway: streams of empty events, endless lines and 400,000 indexes',
    answers: ANSWERS,
    async attack(it) {
      await many(Object.keys(STREAMS).length, 3, async (i) => {
        await chat(it, Object.keys(STREAMS)[i], { stream: true });
      });
    },
  },
  {
    name: 'gateway: lines of streams that never end an event',
    answers: ANSWERS,
    async attack(it) {
      for (const mode of ['an event without end', 'pieces of a byte', 'empty lines'])
        await it.send('/completions/create_stream', {
          project_id: PROJECT,
          inputs: { model: 'm', messages: [{ role: 'user', content: mode }] },
        });
    },
  },
  {
    name: 'gateway: heads that are none, and an upgrade',
    isQuick: true,
    answers: ANSWERS,
    async attack(it) {
      for (const mode of RAW_NAMES) await chat(it, mode);
    },
  },
  {
    name: 'gateway: the key of the provider, sent back whole, in two pieces and recorded',
    isQuick: true,
    answers: ANSWERS,
    async attack(it) {
      for (const stream of [false, true]) {
        const answer = await chat(it, 'echo', { stream });
        const call = await stored(it, answer, ['inputs', 'output', 'exception']);
        it.must(answer.text.includes('[key]'), 'the provider was not asked');
        for (const { text } of [answer, call])
          it.must(!text.includes(PROVIDER_KEY), 'the key of the provider was told');
      }
    },
  },
  {
    name: 'gateway: templates that ask for a long value many times, and an address of slashes',
    isQuick: true,
    answers: ANSWERS,
    async attack(it) {
      const message = { role: 'user', content: '{a}'.repeat(1000) };
      for (const a of ['x'.repeat(1_000_000), times(200_000, () => 1), '']) {
        const template_vars = { a };
        await create(it, { model: 'm', messages: times(100, () => message), template_vars });
      }
      const val = { base_url: `${'/'.repeat(1_000_000)}x` };
      await it.send('/obj/create', { obj: { project_id: PROJECT, object_id: 'slashes', val } });
      await create(it, { model: 'custom::slashes::m', messages: [] });
    },
  },
  {
    name: 'gateway: 1,200 streams at once that hang',
    answers: ANSWERS,
    deadlineMs: 60_000,
    async attack(it) {
      const body = JSON.stringify({
        model: 'm',
        stream: true,
        messages: [{ role: 'user', content: 'hang' }],
      });
      const head = it.head(CHAT, {
        authorization: `Bearer ${it.service.keys.attacker}`,
        'x-skein-project': PROJECT,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      });
      const sockets = times(1200, () => it.open());
      for (const socket of sockets) socket.write(head + body);
      const victim = await it.send(
        CHAT,
        { model: 'm', messages: [] },
        { as: 'victim', headers: { 'x-skein-project': 'other/project' } },
      );
      it.must(victim.status === 200, `another entity is answered ${victim.status}`);
    },
  },
];
