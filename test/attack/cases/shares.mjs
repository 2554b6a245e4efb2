// Attacks with all keys of one entity on resources that it shares with other entities. An admin can make as many keys
// as the limit allows.
import { setTimeout as pause } from 'node:timers/promises';
import { aBatch, AT, Client, many, PROJECT, times } from '../client.mjs';
import { QUICK_KEYS, Service } from '../service.mjs';

const OTHERS = 'other/project';
const JSON_BODY = { 'content-type': 'application/json' };

/** Makes keys of the attacker's entity. Returns their secrets. */
const keysOf = async (it, count, role = 'writer') =>
  (await Promise.all(times(count, () => it.service.makeKey(role, 'acme/*')))).map(
    ({ secret }) => secret,
  );

/** Sends requests of the victim while `work` runs, at least three. Returns their p99. Each answer must be 200. */
async function victimMeanwhile(it, work, ask, pauseMs) {
  const times_ms = [];
  const refused = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver || times_ms.length < 3) {
      const began = performance.now();
      const { status } = await ask();
      times_ms.push(performance.now() - began);
      if (status !== 200) refused.push(status);
      await pause(pauseMs);
    }
  })();
  await work();
  isOver = true;
  await asking;
  it.must(refused.length === 0, `the other entity's requests: ${refused} of ${times_ms.length}`);
  return times_ms.toSorted((a, b) => a - b)[Math.floor(times_ms.length * 0.99)];
}

/**
 * Compares the victim's p99 during the attack with its p99 alone. It may grow to three times, or to `allowedMs`. On a
 * slow machine (`--health-ms`) it may take longer.
 */
async function mustNotDelay(it, allowedMs, work, ask, { aloneMs = 1000, pauseMs = 20 } = {}) {
  const alone = await victimMeanwhile(it, () => pause(aloneMs), ask, pauseMs);
  const beside = await victimMeanwhile(it, work, ask, pauseMs);
  const said = `the other entity's p99 is ${Math.round(beside)} ms, ${Math.round(alone)} ms without the attack`;
  console.log(`    ${said}`);
  it.must(beside <= Math.max(3 * alone, allowedMs * it.options.slowness), said);
}

/** The limit of a key. An entity has twice as much. */
const perMinute = ({ options }) => (options.isQuick ? 60 : 300);

const read = (it) =>
  it.send('/calls/query_stats', { project_id: OTHERS, query: null }, { as: 'victim' });

export const cases = [
  {
    name: 'shares: counts of six keys of one entity, and reads of another',
    isQuick: true,
    async attack(it) {
      const keys = await keysOf(it, 6);
      const text = 'x'.repeat(20_000);
      for (let i = 0; i < (it.options.isQuick ? 2 : 20); i++)
        await it.send(
          '/call/upsert_batch',
          aBatch(times(500, (n) => ({ id: `count-${i}-${n}`, inputs: { text } }))),
        );
      await it.send(
        '/call/start',
        { start: { project_id: OTHERS, id: 'x', op_name: 'x', started_at: AT } },
        { as: 'victim' },
      );
      const slow = {
        $or: times(4, (n) => ({
          $contains: {
            input: { $getField: 'inputs.text' },
            substr: { $literal: `${'x'.repeat(500)}${n}` },
            case_insensitive: true,
          },
        })),
      };
      const body = { project_id: PROJECT, query: { $expr: slow } };
      const until = performance.now() + (it.options.isQuick ? 4000 : 15_000);
      const count = () =>
        many(24, 24, async (lane) => {
          while (performance.now() < until)
            await it.send('/calls/query_stats', body, {
              as: keys[lane % keys.length],
              timeoutMs: 80_000,
            });
        });
      await mustNotDelay(it, 1500, count, () => read(it));
    },
    answers: [200, 503],
  },
  {
    name: 'shares: twenty keys of one entity announce 31 MiB each, ten times, and send nothing',
    isQuick: true,
    async attack(it) {
      const keys = await keysOf(it, 20);
      const body = JSON.stringify({
        start: { project_id: OTHERS, op_name: 'x', started_at: AT, inputs: { x: 'x'.repeat(1e6) } },
      });
      const announce = async () => {
        for (const key of [...keys, ...keys, ...keys])
          for (const size of [31, 8, 2, 0.2])
            it.open().write(
              it.head(
                '/call/start',
                { ...JSON_BODY, 'content-length': Math.floor(size * 1048576) },
                key,
              ),
            );
        await pause(8000);
      };
      await mustNotDelay(it, 500, announce, () => it.send('/call/start', body, { as: 'victim' }));
    },
    answers: [200, 503],
  },
  {
    name: 'shares: answers of 4 MB that 600 connections of twelve keys of one entity do not read',
    isQuick: true,
    async attack(it) {
      const keys = await keysOf(it, 12, 'reader');
      const inputs = { x: 'x'.repeat(4_000_000) };
      for (const [project_id, as] of [
        [PROJECT, 'attacker'],
        [OTHERS, 'victim'],
      ])
        await it.send(
          '/call/start',
          { start: { project_id, id: 'big', op_name: 'x', started_at: AT, inputs } },
          { as },
        );
      const ask = JSON.stringify({ project_id: PROJECT, id: 'big' });
      const leaveUnread = async () => {
        for (let i = 0; i < 600; i++) {
          const socket = it.open().pause();
          const head = it.head(
            '/call/read',
            { ...JSON_BODY, 'content-length': ask.length },
            keys[i % 12],
          );
          socket.write(head + ask);
          if (i % 20 === 0) await pause(100);
        }
        await pause(3000);
      };
      const read = () => it.send('/call/read', { project_id: OTHERS, id: 'big' }, { as: 'victim' });
      await mustNotDelay(it, 300, leaveUnread, read, { aloneMs: 3000 });
    },
    answers: [200, 503],
  },
  {
    name: 'shares: writes of six keys of one entity that fill the line, and a write of another',
    isQuick: true,
    async attack(it) {
      const keys = await keysOf(it, 6);
      const bodies = times(12, (lane) =>
        JSON.stringify(aBatch(times(10_000, (i) => ({ id: `line-${lane}-${i}`, trace_id: 't' })))),
      );
      const waiting = async () => {
        const page = await (await fetch(`${it.service.url}/metrics`)).text();
        return Number(/^skein_calls_waiting(?:\{.*\})? (\d+)/m.exec(page)[1]);
      };
      let most = 0;
      const fill = async () => {
        const until = performance.now() + 10_000;
        await many(12, 12, async (lane) => {
          while (performance.now() < until) {
            await it.send('/call/upsert_batch', bodies[lane], { as: keys[lane % keys.length] });
            most = Math.max(most, await waiting());
          }
        });
      };
      const start = { project_id: OTHERS, id: 'one', op_name: 'x', started_at: AT };
      await mustNotDelay(it, 1500, fill, () => it.send('/call/start', { start }, { as: 'victim' }));
      it.must(it.statuses[503] > 0, `at most ${most} writes waited, and none was refused`);
    },
    answers: [200, 503],
  },
  {
    // after the cases that make keys, because the entity can have no more keys
    name: 'shares: 1,500 large keys of one entity, and lists of them that nobody reads',
    isQuick: true,
    async attack(it) {
      const [admin] = await keysOf(it, 1, 'admin');
      const scopes = times(100, (i) => `acme/${'p'.repeat(70)}${i}`);
      const limit = it.options.isQuick ? QUICK_KEYS : 1000;
      let made = 0;
      await many(1.5 * limit, 50, async () => {
        const key = { user: 'u'.repeat(256), role: 'reader', scopes };
        if ((await it.send('/keys/create', key, { as: admin })).status === 200) made += 1;
      });
      it.must(made > 0 && made <= limit, `one entity has ${made} keys`);
      const body = '{}';
      const head = it.head('/keys/list', { ...JSON_BODY, 'content-length': body.length }, admin);
      const leaveUnread = async () => {
        for (let i = 0; i < 60; i++) {
          it.open()
            .pause()
            .write(head + body);
          await pause(50);
        }
        await pause(3000);
      };
      await mustNotDelay(it, 1500, leaveUnread, () => read(it));
    },
    answers: [200, 413, 503],
  },
  {
    name: 'shares: metrics of a million names in checkpoints, and lists of them',
    isQuick: true,
    async attack(it) {
      const model = JSON.parse(
        (
          await it.send('/v1/preview/models', {
            entity: 'acme',
            project: 'attack',
            name: `metrics${Date.now()}`,
            base_model: 'x',
          })
        ).text,
      ).id;
      const names = (part) =>
        Object.fromEntries(times(20_000, (i) => [`${'n'.repeat(40)}${part}-${i}`, i]));
      for (let part = 0; part < 20; part++)
        await it.send(`/v1/preview/models/${model}/log`, {
          split: 's',
          trajectory_groups: [
            { trajectories: [{ messages_and_choices: [], reward: 1, metrics: names(part) }] },
          ],
        });
      const lists = await Promise.all(
        times(10, () =>
          it.send(`/v1/preview/models/${model}/checkpoints?limit=100`, undefined, {
            method: 'GET',
          }),
        ),
      );
      const largest = Math.max(...lists.map(({ size }) => size));
      it.must(largest < 9_000_000, `a list of checkpoints has ${largest} bytes`);
    },
    answers: [200, 413, 503],
  },
  {
    name: 'shares: twelve keys of one entity that together are over its rate, and reads of another',
    isQuick: true,
    deadlineMs: 180_000,
    async attack(it) {
      const service = await new Service(500, {
        RATE_LIMIT_REQUESTS_PER_MINUTE: String(perMinute(it)),
        RATE_LIMIT_ENTITY_REQUESTS_PER_MINUTE: String(2 * perMinute(it)),
      }).start();
      const limited = new Client(service, it.options);
      try {
        const keys = await keysOf(limited, 12);
        const began = performance.now();
        const answered = { 200: 0, 429: 0 };
        const send = () =>
          many((perMinute(it) / 3) * keys.length, 24, async (i) => {
            const as = keys[i % keys.length];
            const { status } = await limited.send(
              '/call/read',
              { project_id: PROJECT, id: 'x' },
              { as },
            );
            answered[status] += 1;
          });
        // the victim stays within its rate for the whole attack, whose refusals are answered late
        await mustNotDelay(limited, 1000, send, () => read(limited), { pauseMs: 200 });
        const most = 2 * perMinute(it) * (1 + (performance.now() - began) / 60_000);
        it.must(answered[200] <= most, `${answered[200]} requests of an entity passed its rate`);
        it.must(answered[429] > 0, 'no request was refused');
        for (const problem of limited.problems) it.must(false, problem);
        Object.assign(it.statuses, limited.statuses);
      } finally {
        limited.close();
        await service.remove();
      }
    },
    answers: [200, 429],
  },
  {
    name: 'shares: wrong login codes from the address of one who has a good one',
    isQuick: true,
    async attack(it) {
      const login = (authorization) =>
        it.send('/console/login', undefined, {
          headers: { authorization, 'x-skein-console': '1' },
        });
      const codes = [await it.service.loginCode(), await it.service.loginCode()];
      let isOver = false;
      let wrong = 0;
      const guesses = many(50, 50, async (lane) => {
        for (let i = 0; !isOver; i++, wrong++)
          await login(`Code ${String(1000 * i + lane).padStart(43, 'x')}`);
      });
      // the address has no attempt left when the valid requests come
      for (const code of codes) {
        const before = wrong;
        while (wrong < before + 200) await pause(10);
        const { status } = await login(`Code ${code}`);
        it.must(status === 200, `a good login code among others was answered ${status}`);
      }
      isOver = true;
      await guesses;
    },
    answers: [200, 401, 429],
  },
];
