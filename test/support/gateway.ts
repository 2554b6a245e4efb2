import OpenAI from 'openai';
import { startApp, type TestApp } from './app.js';
import { startEngine, type TestEngine } from './engine.js';

export const project_id = 'acme/demo';
export const messages = [{ role: 'user' as const, content: 'Say hello' }];
export const SECRET = 'sk-secret-of-the-operator';

export const json = (response: Response): Promise<any> => response.json();

/** Starts a service whose gateway knows one engine by several names, for the tests of the surrounding block. */
export function useGateway() {
  const gateway = {
    app: {} as TestApp,
    engine: {} as TestEngine,
    /** A key with the role writer in the project. */
    key: '',
    client: (options: object = {}) =>
      new OpenAI({
        baseURL: `${gateway.app.url}/v1`,
        apiKey: gateway.key,
        maxRetries: 0,
        ...options,
      }),
    post: (body: unknown, headers: Record<string, string> = {}, path = '/v1/chat/completions') =>
      fetch(gateway.app.url + path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${gateway.key}`,
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    read: async (id: string) =>
      (await gateway.app.post('/call/read', { project_id, id, include_costs: true })).body.call,
    text: async (id: string) => (await gateway.app.post('/call/read', { project_id, id })).text,
    newest: async () => {
      const sort_by = [{ field: 'started_at', direction: 'desc' }];
      const { body } = await gateway.app.post('/calls/query', { project_id, sort_by, limit: 1 });
      return body.calls[0];
    },
  };
  beforeAll(async () => {
    const engine = await startEngine();
    const provider = (name: string, more: object) => ({ name, base_url: engine.url, ...more });
    const app = await startApp({
      TEST_ENGINE_KEY: SECRET,
      GATEWAY_MAX_ANSWER_BYTES: '200000',
      GATEWAY_PROVIDERS: JSON.stringify([
        provider('plain', {
          models: ['gpt-4o-mini', 'o*'],
          api_key_env: 'TEST_ENGINE_KEY',
          first_byte_seconds: 1,
          idle_seconds: 1,
        }),
        provider('vllm', { models: ['Qwen/Q'], engine: 'vllm' }),
        provider('sglang', { models: ['Qwen/S'], engine: 'sglang' }),
        { name: 'away', base_url: 'http://127.0.0.1:1/v1', models: ['away'] },
      ]),
    });
    const key = await app.aKey('writer', [project_id]);
    Object.assign(gateway, { app, engine, key });
  });
  afterAll(async () => {
    await gateway.app.close();
    await gateway.engine.close();
  });
  return gateway;
}
