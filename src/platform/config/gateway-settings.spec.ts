import { loadConfig } from './config.js';
import { InvalidSetting } from './setting.js';

const A = { name: 'a', base_url: 'http://engine:8000/v1/' };

it('takes providers, and reads their keys when asked', () => {
  const env: Record<string, string> = {
    KEY: 'one',
    GATEWAY_PROVIDERS: JSON.stringify([
      A,
      { name: 'b', base_url: 'https://b.example', api_key_env: 'KEY', models: ['x*'] },
    ]),
  };
  const [a, b] = loadConfig(env).gatewayProviders;
  expect(a).toMatchObject({ baseUrl: 'http://engine:8000/v1', models: [], engine: 'openai' });
  expect(b!.readKey!()).toBe('one');
  env['KEY'] = 'two';
  expect(b!.readKey!()).toBe('two');
});

it.each([
  ['{}', /^GATEWAY_PROVIDERS must be a JSON list/],
  ['[', /^GATEWAY_PROVIDERS must be a JSON list, and is not JSON/],
  [[1], /^GATEWAY_PROVIDERS\[0\] must be an object/],
  [[{ ...A, api_key: 'sk-1' }], /unknown member; .*api_key_env/],
  [[{ ...A, name: 'a b' }], /^GATEWAY_PROVIDERS\[0\].name/],
  [[{ name: 'a' }], /base_url/],
  [[{ ...A, base_url: 'ftp://a' }], /base_url/],
  [[{ ...A, base_url: 'https://u:p@a' }], /base_url/],
  [[{ ...A, api_key_file: '/key' }], /base_url must be https/],
  [[{ ...A, base_url: 'https://a', api_key_env: 'ABSENT' }], /api_key_env must name/],
  [[{ ...A, base_url: 'https://a', api_key_env: 'K', api_key_file: '/k' }], /not both/],
  [[{ ...A, models: ['a*b'] }], /models/],
  [[{ ...A, models: [''] }], /models/],
  [[{ ...A, engine: 'llama' }], /engine must be one of openai, vllm, sglang/],
  [[{ ...A, idle_seconds: 0 }], /idle_seconds/],
  [[A, A], /must not name "a" twice/],
])('refuses the providers %j, and never shows them', (given, message) => {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  const load = () => loadConfig({ GATEWAY_PROVIDERS: text, K: 'x' });
  expect(load).toThrow(InvalidSetting);
  expect(load).toThrow(message);
  expect(load).not.toThrow(/sk-1/);
});

it('refuses a budget that is no amount', () => {
  expect(() => loadConfig({ GATEWAY_COST_PER_DAY: '-1' })).toThrow(/^GATEWAY_COST_PER_DAY must/);
});
