import { isSafeUrl } from './sign-in-settings.js';
import { integer, InvalidSetting, oneOf, type Setting } from './setting.js';

const MIB = 1024 * 1024;
export const ENGINES = ['openai', 'vllm', 'sglang'] as const;
export type Engine = (typeof ENGINES)[number];

/** A service that answers like OpenAI's, which the gateway may ask. */
export interface ModelProvider {
  name: string;
  /** Where paths such as `/chat/completions` begin, without a slash at its end. */
  baseUrl: string;
  /** The variable, or the file, that holds its key: read at each use. */
  apiKeyEnv: string | undefined;
  apiKeyFile: string | undefined;
  /** Names that it is asked for; one that ends in `*` stands for all that begin so. */
  models: readonly string[];
  engine: Engine;
  /** How long it may take to begin an answer, and be silent within one. */
  firstByteSeconds: number;
  idleSeconds: number;
}

/** What the gateway asks, and what it lets pass. */
export function gatewaySettings(setting: Setting, maxBodyBytes: number) {
  return {
    /** Who answers requests to models. No other address is ever asked. */
    gatewayProviders: modelProviders(setting),
    /** What becomes of a request that cannot be recorded, unless it says so itself. */
    gatewayRecord: oneOf(setting, 'GATEWAY_RECORD', ['required', 'best_effort']),
    /** Requests that this process may have at providers at once. */
    gatewayConcurrency: integer(setting, 'GATEWAY_CONCURRENCY', 512, [2, 100_000]),
    /** Limit of the answer of a provider. */
    gatewayMaxAnswerBytes: integer(setting, 'GATEWAY_MAX_ANSWER_BYTES', maxBodyBytes, [
      1024,
      256 * MIB,
    ]),
    /** What each key may ask in a day (UTC); 0 is no limit. */
    gatewayRequestsPerDay: integer(setting, 'GATEWAY_REQUESTS_PER_DAY', 0, [0, 1e12]),
    /** The same in US dollars. */
    gatewayCostPerDay: costLimit(setting),
  };
}

function costLimit(setting: Setting): number {
  const text = setting('GATEWAY_COST_PER_DAY') ?? '0';
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text))
    throw new InvalidSetting(
      `GATEWAY_COST_PER_DAY must be US dollars such as 25 or 0.5, got "${text}"`,
    );
  return Number(text);
}

/** The message never holds the value: somebody may have put a key into it. */
function modelProviders(setting: Setting): readonly ModelProvider[] {
  const text = setting('GATEWAY_PROVIDERS');
  if (text === undefined) return [];
  const list = parsedList(text);
  const providers = list.map((item, at) => {
    const fault = findFault(item, setting);
    if (fault !== undefined) throw new InvalidSetting(`GATEWAY_PROVIDERS[${at}]${fault}`);
    return readProvider(item as Item);
  });
  const names = providers.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new InvalidSetting(`GATEWAY_PROVIDERS must not name "${twice}" twice`);
  return providers;
}

function parsedList(text: string): unknown[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    throw new InvalidSetting('GATEWAY_PROVIDERS must be a JSON list, and is no JSON');
  }
  if (!Array.isArray(list)) throw new InvalidSetting('GATEWAY_PROVIDERS must be a JSON list');
  return list;
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

const MEMBERS = new Set(
  'name base_url api_key_env api_key_file models engine first_byte_seconds idle_seconds'.split(' '),
);
/** OpenAI's clients wait ten minutes for an answer. */
const FIRST_BYTE_SECONDS = 600;
const IDLE_SECONDS = 120;

const readProvider = (item: Item): ModelProvider => ({
  name: item.name,
  baseUrl: item.base_url.replace(/\/+$/, ''),
  apiKeyEnv: item.api_key_env,
  apiKeyFile: item.api_key_file,
  models: item.models ?? [],
  engine: item.engine ?? 'openai',
  firstByteSeconds: item.first_byte_seconds ?? FIRST_BYTE_SECONDS,
  idleSeconds: item.idle_seconds ?? IDLE_SECONDS,
});

function findFault(given: unknown, setting: Setting): string | undefined {
  if (typeof given !== 'object' || given === null) return ' must be an object';
  const item = given as Record<string, unknown>;
  const unknown = Object.keys(item).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined)
    return ` has an unknown member; known are ${[...MEMBERS].join(', ')}: a key goes into api_key_env or api_key_file`;
  const { name, base_url, api_key_env, api_key_file, models, engine } = item;
  if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name))
    return '.name must be 1 to 64 letters, digits, "_", "." or "-"';
  const hasKey = api_key_env !== undefined || api_key_file !== undefined;
  const fault = urlFault(base_url, hasKey);
  if (fault !== undefined) return fault;
  if (api_key_env !== undefined && api_key_file !== undefined)
    return ' must have api_key_env or api_key_file, not both';
  if (api_key_env !== undefined && (typeof api_key_env !== 'string' || !setting(api_key_env)))
    return '.api_key_env must name a variable of the environment that is set';
  if (api_key_file !== undefined && (typeof api_key_file !== 'string' || api_key_file === ''))
    return '.api_key_file must be the path of a file';
  if (models !== undefined && !areModels(models))
    return '.models must be a list of names, where only the last character may be "*"';
  if (engine !== undefined && !ENGINES.includes(engine as Engine))
    return `.engine must be one of ${ENGINES.join(', ')}`;
  for (const seconds of ['first_byte_seconds', 'idle_seconds'])
    if (item[seconds] !== undefined && !isSeconds(item[seconds]))
      return `.${seconds} must be a whole number from 1 to 3600`;
  return undefined;
}

function urlFault(url: unknown, hasKey: boolean): string | undefined {
  const rule = '.base_url must be an http or https URL without user, query and fragment';
  if (typeof url !== 'string' || !URL.canParse(url)) return rule;
  const { protocol, username, password, search, hash } = new URL(url);
  if (`${username}${password}${search}${hash}` !== '' || !/^https?:$/.test(protocol)) return rule;
  return hasKey && !isSafeUrl(url)
    ? '.base_url must be https where the provider has a key (http is for 127.0.0.1, ::1 and localhost)'
    : undefined;
}

const areModels = (models: unknown) =>
  Array.isArray(models) &&
  models.every((name) => typeof name === 'string' && /^[^*\p{Cc}]{0,256}\*?$/u.test(name) && name);

const isSeconds = (value: unknown) =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 3600;
