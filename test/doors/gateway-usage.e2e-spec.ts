import { startApp, type TestApp } from '../support/app.js';
import { startEngine, type TestEngine } from '../support/engine.js';
import { messages, project_id } from '../support/gateway.js';
import { until } from '../support/until.js';

let app: TestApp;
let engine: TestEngine;
beforeAll(async () => {
  engine = await startEngine();
  app = await startApp({
    GATEWAY_COST_PER_DAY: '100',
    GATEWAY_PROVIDERS: JSON.stringify([{ name: 'any', base_url: engine.url, models: ['*'] }]),
  });
});
afterAll(async () => {
  await app.close();
  await engine.close();
});

/*
 * Prices of the providers, in USD for a million tokens:
 * - grok-4: input 3, output 15
 * - claude-sonnet-4-5: input 3, cache read 0.30, cache write 3.75, output 15
 * - gpt-audio: input 2.50, output 10, audio input 32, audio output 64
 */
it.each<[string, string, object, number | null]>([
  ['reasoning beside the output', 'grok-4', { prompt_tokens: 820, completion_tokens: 40, total_tokens: 1170, completion_tokens_details: { reasoning_tokens: 310 } }, 820 * 3 + 350 * 15],
  ['cached tokens beside the input', 'claude-sonnet-4-5', { prompt_tokens: 5000, completion_tokens: 20, total_tokens: 6120, cache_read_input_tokens: 1000, cache_creation_input_tokens: 100 }, 5000 * 3 + 300 + 375 + 300],
  ['audio', 'gpt-audio', { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, prompt_tokens_details: { audio_tokens: 20 }, completion_tokens_details: { audio_tokens: 5 } }, 80 * 2.5 + 20 * 32 + 5 * 10 + 5 * 64],
  ['a count that is none', 'grok-4', { prompt_tokens: 10.5, completion_tokens: 40 }, null],
])('an answer with %s costs what the provider asks, and so much of the budget', async (_, model, usage, micros) => {
  const key = await app.aKey('writer', [project_id]);
  engine.next((_, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ id: 'x', model, choices: [], usage })),
  );
  const answer = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages }),
  });
  expect(answer.status).toBe(200);
  const id = answer.headers.get('x-skein-call-id')!;
  const cost = async () => {
    const { body } = await app.post('/call/read', { project_id, id, include_costs: true });
    return body.call?.summary?.svc?.costs?.[model];
  };
  await until(async () => (await cost()) !== undefined);
  const { total_cost } = await cost();
  expect(total_cost && Math.round(total_cost * 1e9) / 1e3).toBe(micros);
  const used = () =>
    app.query(
      `SELECT u.cost::float8 FROM gateway_uses u JOIN api_keys k ON k.id::text = u.key_id
      WHERE k.secret_hash = sha256(convert_to($1, 'UTF8'))`,
      [key],
    );
  await until(async () => Math.round((await used())[0]?.cost * 1e9) / 1e3 === (micros ?? 0));
}); // prettier-ignore
