import { isSafeUrl } from './sign-in-settings.js';
import { integer, InvalidSetting, jsonList, oneOf, type SettingReader } from './setting.js';

const MIB = 1024 * 1024;
const ENGINES = ['openai', 'vllm', 'sglang'] as const;
export type Engine = (typeof ENGINES)[number];

/** A service with an API like OpenAI's, to which the gateway may send requests. */
export interface ModelProvider {
  name: string;
  /** URL to which paths such as `/chat/completions` are appended, without a slash at its end. */
  baseUrl: string;
  /** Reads the key from its environment variable or file, at each use. */
  readKey: (() => string | undefined) | undefined;
  keyFile: string | undefined;
  /** Names of models that it serves. A name that ends in `*` matches all names with this beginning. */
  models: readonly string[];
  engine: Engine;
  /** Longest wait for the first byte of an answer, and longest pause within it. */
  firstByteSeconds: number;
  idleSeconds: number;
}

/** Returns true when every key may use the model at the provider. */
export const isOpenModel = ({ models }: ModelProvider, model: string): boolean =>
  models.some((pattern) =>
    pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern,
  );

export function gatewaySettings(setting: SettingReader, maxBodyBytes: number) {
  return {
    /** Providers that answer requests to models. The gateway contacts no other address. */
    gatewayProviders: modelProviders(setting),
    /** Default for requests that cannot be recorded. A request may override it. */
    gatewayRecord: oneOf(setting, 'GATEWAY_RECORD', ['required', 'best_effort']),
    /** Most requests of this process that may be at providers at a time. */
    gatewayConcurrency: integer(setting, 'GATEWAY_CONCURRENCY', 512, [2, 100_000]),
    gatewayMaxAnswerBytes: integer(setting, 'GATEWAY_MAX_ANSWER_BYTES', maxBodyBytes, [
      1024,
      256 * MIB,
    ]),
    /** Most requests of each key in a day (UTC); 0 is no limit. */
    gatewayRequestsPerDay: integer(setting, 'GATEWAY_REQUESTS_PER_DAY', 0, [0, 1e12]),
    /** Highest cost of each key in a day, in US dollars; 0 is no limit. */
    gatewayCostPerDay: costLimit(setting),
  };
}

function costLimit(setting: SettingReader): number {
  const text = setting('GATEWAY_COST_PER_DAY') ?? '0';
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text))
    throw new InvalidSetting(
      `GATEWAY_COST_PER_DAY must be US dollars such as 25 or 0.5, got "${text}"`,
    );
  return Number(text);
}

function modelProviders(setting: SettingReader): readonly ModelProvider[] {
  const providers = jsonList(setting, 'GATEWAY_PROVIDERS').map((item, at) => {
    const fault = findFault(item, setting);
    if (fault !== undefined) throw new InvalidSetting(`GATEWAY_PROVIDERS[${at}]${fault}`);
    return readProvider(item as Item, setting);
  });
  const names = providers.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new InvalidSetting(`GATEWAY_PROVIDERS must not name "${twice}" twice`);
  return providers;
}

interface Item {
  name: string;
  base_url: string;
  api_key_env?: string;
  api_key_file?: string;
  models?: string[];
  engine?: Engine;
  first_byte_seconds?: number;
  idle_seconds?: number;
}

/** OpenAI's clients wait ten minutes for an answer. */
const FIRST_BYTE_SECONDS = 600;
const IDLE_SECONDS = 120;

const readProvider = (item: Item, setting: SettingReader): ModelProvider => ({
  name: item.name,
  baseUrl: item.base_url.replace(/\/+$/, ''),
  readKey: item.api_key_env === undefined ? undefined : () => setting(item.api_key_env!),
  keyFile: item.api_key_file,
  models: item.models ?? [],
  engine: item.engine ?? 'openai',
  firstByteSeconds: item.first_byte_seconds ?? FIRST_BYTE_SECONDS,
  idleSeconds: item.idle_seconds ?? IDLE_SECONDS,
});

/** Rules for the members of a provider, when they are present. */
const RULES: [name: keyof Item, isValid: (value: unknown) => boolean, rule: string][] = [
  ['name', (value) => isText(value, /^[\w.-]{1,64}$/), '1 to 64 letters, digits, "_", "." or "-"'],
  ['base_url', isUrl, 'an http or https URL without user, query and fragment'],
  ['api_key_env', (value) => isText(value, /^\w+$/), 'the name of a variable of the environment'],
  ['api_key_file', (value) => isText(value, /./), 'the path of a file'],
  ['models', areModels, 'a list of names, where only the last character may be "*"'],
  ['engine', (value) => ENGINES.includes(value as Engine), `one of ${ENGINES.join(', ')}`],
  ['first_byte_seconds', isSeconds, 'a whole number from 1 to 3600'],
  ['idle_seconds', isSeconds, 'a whole number from 1 to 3600'],
];

function findFault(given: unknown, setting: SettingReader): string | undefined {
  if (typeof given !== 'object' || given === null) return ' must be an object';
  const item = given as Record<string, unknown>;
  const known = RULES.map(([name]): string => name);
  if (!Object.keys(item).every((name) => known.includes(name)))
    return ` has an unknown member; known are ${known.join(', ')}: a key goes into api_key_env or api_key_file`;
  const needed = ['name', 'base_url'];
  const broken = RULES.find(
    ([name, isValid]) =>
      (needed.includes(name) || item[name] !== undefined) && !isValid(item[name]),
  );
  if (broken) return `.${broken[0]} must be ${broken[2]}`;
  return keyFault(given as Item, setting);
}

function keyFault({ base_url, api_key_env, api_key_file }: Item, setting: SettingReader) {
  if (api_key_env === undefined && api_key_file === undefined) return undefined;
  if (api_key_env !== undefined && api_key_file !== undefined)
    return ' must have api_key_env or api_key_file, not both';
  if (api_key_env !== undefined && !setting(api_key_env))
    return '.api_key_env must name a variable of the environment that is set';
  return isSafeUrl(base_url)
    ? undefined
    : '.base_url must be https where the provider has a key (http is for 127.0.0.1, ::1 and localhost)';
}

const isText = (value: unknown, pattern: RegExp) =>
  typeof value === 'string' && pattern.test(value);

function isUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return `${username}${password}${search}${hash}` === '' && /^https?:$/.test(protocol);
}

function areModels(value: unknown): boolean {
  return (
    Array.isArray(value) && value.every((name) => isText(name, /^(?!$)[^*\p{Cc}]{0,256}\*?$/u))
  );
}

function isSeconds(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 3600;
}
