/** @jest-environment-options {"isApart": true} */
// the process remembers a full disk for two minutes, and /ready of the next suite would report it
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { setImmediate as nextRound } from 'node:timers/promises';
import OpenAI from 'openai';
import { startApp } from '../support/app.js';
import { unlessCluster } from '../support/database.js';
import { eventsOf } from '../support/engine.js';
import { json, messages, project_id, SECRET, useGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

const gateway = useGateway();
const { client, post, newest, text } = gateway;

describe('a provider that fails', () => {
  const body = { model: 'gpt-4o-mini', messages };

  it('has its refusal passed on, without the key of the operator', async () => {
    gateway.engine.next((_, response) => {
      response.writeHead(429, {
        'content-type': 'application/json',
        'retry-after': '7',
        'set-cookie': 'a=b',
      });
      response.end(`{"error":{"message":"slow down, ${SECRET}"}, "n": 1.0}`);
    });
    const response = await post(body);
    expect([
      response.status,
      response.headers.get('retry-after'),
      response.headers.get('set-cookie'),
    ]).toEqual([429, '7', null]);
    expect(await response.text()).toBe('{"error":{"message":"slow down, [key]"}, "n": 1.0}');
    expect(await newest()).toMatchObject({
      exception: 'the provider plain answered 429: slow down, [key]',
      summary: { svc: { status: 'error' } },
    });
  });

  it('that sends the key back has it taken out, also of two pieces and of headers', async () => {
    const events = eventsOf({ body, path: '/chat/completions' });
    const told = JSON.stringify({ model: SECRET, choices: [{ message: { content: SECRET } }] });
    gateway.engine.next((_, response) =>
      response.writeHead(200, { 'content-type': `application/json; x=${SECRET}` }).end(told),
    );
    const whole = await post(body);
    expect(await whole.text()).toBe(told.replaceAll(SECRET, '[key]'));
    expect(JSON.stringify([...whole.headers])).not.toContain(SECRET);
    expect(await text((await newest()).id)).not.toContain(SECRET);

    const event = events[1]!.replace('Hel', SECRET);
    gateway.engine.next((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const middle = event.indexOf('secret');
      response.write(event.slice(0, middle));
      setTimeout(() => response.end(event.slice(middle) + events.at(-1)), 50);
    });
    expect(await (await post({ ...body, stream: true })).text()).toContain('"content":"[key]"');
    expect(await text((await newest()).id)).not.toContain(SECRET);

    gateway.engine.next((_, response) =>
      response
        .writeHead(500, { 'retry-after': SECRET, 'content-type': `text/x; x=${SECRET}` })
        .end(
          JSON.stringify({ error: { message: SECRET } }).replace('secret', String.raw`\u0073ecret`),
        ),
    );
    const refused = await post(body);
    expect(JSON.stringify([...refused.headers])).not.toContain(SECRET);
    expect((await newest()).exception).toBe('the provider plain answered 500: [key]');
  });

  it('that speaks another protocol is told at once', async () => {
    gateway.engine.next((_, response) =>
      response.socket!.write('HTTP/1.1 101 x\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    );
    expect((await json(await post(body))).error.message).toMatch(/answered 101/);
  });
  it('is told as an error of Skein where it does not take the key', async () => {
    gateway.engine.next((_, response) =>
      response.writeHead(401).end('{"error":{"message":"bad key"}}'),
    );
    expect((await post(body)).status).toBe(502);
  });

  it.each([
    ['redirects', 302, { location: '/v1/other' }, /302/],
    ['compresses', 200, { 'content-encoding': 'gzip' }, /compressed/],
  ])('is not followed where it %s', async (_, status, headers, message) => {
    const before = gateway.engine.asked.length;
    gateway.engine.next((_asked, response) => response.writeHead(status, headers).end('x'));
    const response = await post(body);
    expect(response.status).toBe(502);
    expect((await json(response)).error.message).toMatch(message);
    expect(gateway.engine.asked.length).toBe(before + 1);
    expect((await newest()).exception).toMatch(message);
  });

  it('is told where it cannot be reached', async () => {
    const response = await post({ ...body, model: 'away' });
    expect([response.status, (await json(response)).error]).toEqual([
      502,
      {
        message: 'the provider away cannot be reached',
        type: 'server_error',
        param: null,
        code: 'provider_failed',
      },
    ]);
    expect((await newest()).exception).toMatch(/cannot be reached/);
  });

  it('is given up when it does not begin, and when it falls silent', async () => {
    gateway.engine.next(() => {});
    expect((await json(await post(body))).error.message).toMatch(/did not begin to answer in 1 s/);
    gateway.engine.next((asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of eventsOf(asked).slice(0, 2)) response.write(event);
    });
    const stream = await client().chat.completions.create({ ...body, stream: true });
    await expect(async () => { for await (const _ of stream); }).rejects.toThrow(/sent nothing for too long/); // prettier-ignore
    expect(await newest()).toMatchObject({
      exception: expect.stringMatching(/nothing/),
      output: { choices: [{ message: { content: 'Hel' } }] },
    });
  });

  it('cuts the stream of the client where it breaks off', async () => {
    gateway.engine.next((asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(eventsOf(asked)[0], () => response.destroy());
    });
    const stream = await client().chat.completions.create({ ...body, stream: true });
    await expect(async () => { for await (const _ of stream); }).rejects.toThrow(/broke off/); // prettier-ignore
    await until(async () => /broke off/.test((await newest()).exception));
  });

  it('has what it sent recorded when it broke off while the start was being committed', async () => {
    const runner = gateway.app.dataSource.createQueryRunner();
    let isCut = false;
    gateway.engine.next((asked, response) => {
      response.on('close', () => (isCut = true));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(eventsOf(asked).slice(0, 3).join(''), () => response.destroy());
    });
    try {
      await runner.query('BEGIN');
      await runner.query('LOCK TABLE calls IN EXCLUSIVE MODE');
      const answer = post({ ...body, stream: true });
      await until(() => isCut);
      for (let round = 0; round < 100; round++) await nextRound(); // by now the service has noticed it too
      await runner.query('COMMIT');
      await expect((await answer).text()).rejects.toThrow();
    } finally {
      await runner.release();
    }
    await until(async () => /broke off/.test((await newest()).exception));
    expect((await newest()).output.choices[0].message.content).toBe('Hello');
  });

  it('has what is not JSON in its stream counted, and the rest of it recorded', async () => {
    for (const broken of ['{"choices":[{"index":0,"delta":{},"token_ids":[1,]}]}', '{"choi', '7']) {
      gateway.engine.next((asked, response) => {
        const [first, ...others] = eventsOf(asked);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end([first, `data: ${broken}\n\n`, ...others].join(''));
      });
      const answer = await post({ model: 'gpt-4o-mini', messages, stream: true });
      expect(await answer.text()).toContain(broken);
      expect(await newest()).toMatchObject({
        exception: null,
        output: { choices: [{ message: { content: 'Hello world' } }] },
        summary: { gateway: { unread: 1 } },
      });
    }
  });

  it('is stopped at the limit of an answer', async () => {
    gateway.engine.next((_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`"${'x'.repeat(300_000)}"`),
    );
    const response = await post(body);
    expect([response.status, (await json(response)).error.message]).toEqual([
      502,
      'the answer of the provider plain has over 200000 bytes',
    ]);
  });
});

describe('a client that leaves', () => {
  const leave = async (stream: boolean) => {
    let aborted = false;
    gateway.engine.next((asked, response) => {
      response.on('close', () => (aborted = !response.writableFinished));
      response.writeHead(200, {
        'content-type': stream ? 'text/event-stream' : 'application/json',
      });
      response.write(stream ? eventsOf(asked).slice(0, 2).join('') : '{');
    });
    const before = gateway.engine.asked.length;
    const request = httpRequest(`${gateway.app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
    });
    request.on('error', () => {});
    request.end(JSON.stringify({ model: 'Qwen/Q', messages, stream }));
    if (stream) {
      const [response] = await once(request, 'response');
      await once(response, 'data');
    } else await until(() => gateway.engine.asked.length > before);
    request.destroy();
    await until(() => aborted);
    await until(async () => (await newest()).ended_at !== null);
    return newest();
  };

  it('ends the work of the provider, and what came is recorded', async () => {
    expect(await leave(true)).toMatchObject({
      exception: 'the client left before the answer had ended',
      output: { choices: [{ message: { content: 'Hel' } }] },
    });
    expect((await leave(false)).exception).toMatch(/^the client left before/);
  });
});

unlessCluster('its tables take no triggers').describe('a database that does not store', () => {
  it('refuses what is to be recorded, and lets the rest pass', async () => {
    const small = await startApp({
      GATEWAY_PROVIDERS: JSON.stringify([
        { name: 'plain', base_url: gateway.engine.url, models: ['m'] },
      ]),
    });
    try {
      await small.query(
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$`,
      );
      await small.query(
        'CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON calls FOR EACH STATEMENT EXECUTE FUNCTION refuse()',
      );
      const ask = (record: string, stream: boolean) =>
        fetch(`${small.url}/v1/chat/completions`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${small.key}`,
            'x-skein-project': project_id,
            'x-skein-record': record,
          },
          body: JSON.stringify({ model: 'm', messages, stream }),
        });
      for (const stream of [false, true]) {
        const before = gateway.engine.asked.length;
        const refused = await ask('required', stream);
        expect([
          refused.status,
          refused.headers.get('retry-after'),
          gateway.engine.asked.length,
        ]).toEqual([503, '1', before]);
        const passed = await ask('best_effort', stream);
        expect([passed.status, await passed.text()]).toEqual([200, expect.stringContaining('wor')]);
      }
      // the start is stored, the end is refused
      await small.query('DROP TRIGGER refuse ON calls');
      gateway.engine.next(async (asked, response) => {
        await small.query(
          'CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON calls FOR EACH STATEMENT EXECUTE FUNCTION refuse()',
        );
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(eventsOf(asked).join(''));
      });
      const cut = await ask('required', true);
      const reader = cut.body!.getReader();
      let said = '';
      const readAll = async () => { for (;;) { const { done, value } = await reader.read(); if (done) return; said += Buffer.from(value).toString(); } }; // prettier-ignore
      await expect(readAll()).rejects.toThrow();
      expect(said).toContain('"error"');
      expect(said).not.toContain('[DONE]');
      // without a stored start the provider is not called again
      expect((await ask('required', false)).status).toBe(503);
      const before = gateway.engine.asked.length;
      expect((await ask('required', false)).status).toBe(503);
      expect(gateway.engine.asked.length).toBe(before);
    } finally {
      await small.close();
    }
  });
});

describe('budgets', () => {
  it('let each key ask so many times a day', async () => {
    const poor = await startApp({
      GATEWAY_REQUESTS_PER_DAY: '2',
      GATEWAY_COST_PER_DAY: '0.5',
      GATEWAY_PROVIDERS: JSON.stringify([
        { name: 'plain', base_url: gateway.engine.url, models: ['m', 'dear'] },
      ]),
    });
    try {
      const ask = async (apiKey: string, model = 'm') =>
        new OpenAI({ baseURL: `${poor.url}/v1`, apiKey, maxRetries: 0 }).chat.completions.create({
          model,
          messages,
        });
      const [one, other] = [
        await poor.aKey('writer', [project_id]),
        await poor.aKey('writer', [project_id]),
      ];
      const used = async (apiKey: string) => {
        const [row] = await poor.query(
          `SELECT u.cost::float8 FROM gateway_uses u JOIN api_keys k ON k.id::text = u.key_id
          WHERE k.secret_hash = sha256(convert_to($1, 'UTF8'))`,
          [apiKey],
        );
        return row ?? { cost: 0 };
      };
      const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => ask(one)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
      await expect(ask(one)).rejects.toMatchObject({ status: 429, code: 'insufficient_quota' });
      await poor.post('/cost/create', {
        project_id,
        costs: { dear: { prompt_token_cost: 0.1, completion_token_cost: 0.1 } },
      });
      await ask(other, 'dear');
      await expect(ask(other)).rejects.toThrow(/0.5 US dollars/);

      // unrecorded requests count too, and a project's price never makes a model cheaper than the built-in one
      const priced = { prompt_token_cost: 0, completion_token_cost: 0 };
      await poor.post('/cost/create', { project_id, costs: { 'gpt-4o': priced } });
      const usage = { prompt_tokens: 1e6, completion_tokens: 1e6 };
      gateway.engine.next((_, response) =>
        response.writeHead(200).end(JSON.stringify({ model: 'gpt-4o', choices: [], usage })),
      );
      const third = await poor.aKey('writer', [project_id]);
      const inputs = { model: 'm', messages };
      const silent = { project_id, inputs, track_llm_call: false };
      expect((await poor.post('/completions/create', silent, { key: third })).status).toBe(200);
      await until(async () => (await used(third)).cost > 10);
      await expect(ask(third)).rejects.toThrow(/0.5 US dollars/);

      // a stream counts too when its client leaves before the usage arrives, or when it ends on the next day
      const fourth = await poor.aKey('writer', [project_id]);
      gateway.engine.next(async (asked, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const event of eventsOf(asked).slice(0, 2)) response.write(event);
        await poor.query('DELETE FROM gateway_uses');
      });
      const leaving = httpRequest(`${poor.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${fourth}` },
      });
      leaving.on('error', () => {});
      leaving.end(JSON.stringify({ model: 'dear', messages, stream: true }));
      const [begun] = await once(leaving, 'response');
      await once(begun, 'data');
      leaving.destroy();
      await until(async () => (await used(fourth)).cost > 0.5);
    } finally {
      await poor.close();
    }
  });
});
