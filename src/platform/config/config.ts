import { isIP } from 'node:net';
import { totalmem } from 'node:os';
import { integer, InvalidSetting, oneOf, type SettingReader, settingValue } from './setting.js';
import { readRetentionDefault } from './retention-settings.js';
import { backupSettings } from './backup-settings.js';
import { databaseUrl } from './database-url.js';
import { gatewaySettings } from './gateway-settings.js';
import { quotaSettings } from './quota-settings.js';
import { signInSettings } from './sign-in-settings.js';

const MIB = 1024 * 1024;
const DAY_SECONDS = 86_400;

/**
 * Memory that a body takes in all its forms, as a multiple of `MAX_BODY_BYTES`. `bench/json-weight.mjs` measures it.
 */
const BODY_WEIGHT = 12;
/**
 * With little memory, the budget is half of what the process and the embedded PostgreSQL leave, because bodies leave
 * garbage.
 */
const PROCESS_BYTES = 128 * MIB;
const POSTGRES_PART = 1 / 4;
const LEAST_BUDGET = 16 * MIB;

/** Most connections of a process. A fourth of its file descriptors stays free for other uses. */
const MAX_CONNECTIONS = 10_000;
const CONNECTIONS_OF_FILES = 3 / 4;
const LEAST_CONNECTIONS = 16;

/**
 * Returns the memory limit of a PostgreSQL process. Six connections of a service may hold large documents at once
 * (`ConnectionSlots`). With a twelfth each, they leave half of the memory to the cache and to Node. The minimum is what
 * storing a row of 64 MiB needs.
 */
const postgresProcessBytes = (memoryBytes: number) =>
  Math.min(4096 * MIB, Math.max(768 * MIB, Math.floor(memoryBytes / 12)));

/**
 * Default port of exporters. The service also starts when this port is taken, but not when any other configured port
 * is.
 */
export const OTLP_GRPC_PORT = 4317;
/** Internal spans of Codex 0.171 (500 for a prompt) and Claude Code 2.1. */
const OTLP_FOLD = 'codex*,!codex*/session_task.turn,com.anthropic.claude_code.*';

export const WIRE_DIALECTS = ['svc', 'weave'] as const;

export const CONFIG = Symbol('config');

/** Reads and checks all settings of the environment. The result is frozen. */
export function loadConfig(
  env: NodeJS.ProcessEnv,
  memoryBytes = usableBytes(),
  files = openFiles(),
) {
  const setting = (name: string) => settingValue(env, name);
  const maxBodyBytes = integer(setting, 'MAX_BODY_BYTES', 32 * MIB, [1024, 256 * MIB]);
  const workers = integer(setting, 'WORKERS', 1, [1, 64]);
  const url = databaseUrl(setting);
  const rateLimitRequestsPerMinute = integer(
    setting,
    'RATE_LIMIT_REQUESTS_PER_MINUTE',
    0,
    [0, 1e9],
  );
  const rateLimitBytesPerMinute = integer(setting, 'RATE_LIMIT_BYTES_PER_MINUTE', 0, [0, 1e15]);
  const processBytes = (memoryBytes * (url ? 1 : 1 - POSTGRES_PART)) / workers;
  const bodyBudget = Math.min(
    Math.max(64 * MIB, BODY_WEIGHT * maxBodyBytes),
    Math.max(LEAST_BUDGET, Math.floor((processBytes - PROCESS_BYTES) / 2)),
  );
  const mostConnections = Math.max(LEAST_CONNECTIONS, Math.floor(CONNECTIONS_OF_FILES * files));
  const maxConnections = integer(
    setting,
    'MAX_CONNECTIONS',
    Math.min(MAX_CONNECTIONS, mostConnections),
    [LEAST_CONNECTIONS, mostConnections],
  );
  return Object.freeze({
    port: integer(setting, 'PORT', 3000, [0, 65_535]),
    host: setting('HOST') ?? '127.0.0.1',
    /** Port of `/health`, `/ready` and `/metrics`. Undefined when `port` serves them. */
    operationsPort: setting('OPERATIONS_PORT')
      ? integer(setting, 'OPERATIONS_PORT', 0, [0, 65_535])
      : undefined,
    /** Port of OTLP over gRPC. Undefined when it is off. */
    otlpGrpcPort:
      setting('OTLP_GRPC_PORT') === 'off'
        ? undefined
        : integer(setting, 'OTLP_GRPC_PORT', OTLP_GRPC_PORT, [0, 65_535]),
    /** Spans that are stored only when they describe models, agents or tools: see `SpanFolding`. */
    otlpFold: setting('OTLP_FOLD') ?? OTLP_FOLD,
    /** Host names that requests may name, in lower case; null for any. */
    allowedHosts: hosts(setting),
    /** Most connections of clients to this process, and from one address. */
    maxConnections,
    maxConnectionsPerAddress: integer(
      setting,
      'MAX_CONNECTIONS_PER_ADDRESS',
      Math.ceil(maxConnections / 2),
      [1, maxConnections],
    ),
    /** URL of a PostgreSQL 15 or later. When unset the service runs its own, in `dataDir`. */
    databaseUrl: url,
    dataDir: setting('DATA_DIR') ?? './data',
    /** Settings of the embedded PostgreSQL that override ours, as arguments of `postgres`. */
    postgresFlags: postgresFlags(setting),
    /**
     * On Linux, memory that each process of the embedded PostgreSQL may use in addition to the shared cache; 0 is no
     * limit.
     */
    postgresProcessBytes: integer(
      setting,
      'POSTGRES_PROCESS_BYTES',
      postgresProcessBytes(memoryBytes),
      [0, 1024 * 1024 * MIB],
    ),
    databasePoolSize: integer(setting, 'DATABASE_POOL_SIZE', 10, [2, 1000]),
    /** Longest time that a count, a list or a batch of a stream may keep the database busy. */
    readTimeoutSeconds: integer(setting, 'READ_TIMEOUT_SECONDS', 60, [1, 3600]),
    /** Slower statements are logged; 0 logs none. */
    slowQueryMs: integer(setting, 'SLOW_QUERY_MS', 1000, [0, 3_600_000]),
    /** True to work on a database with migrations that this build does not know. */
    allowNewerSchema: oneOf(setting, 'ALLOW_NEWER_SCHEMA', ['0', '1']) === '1',
    bootstrapApiKey: setting('BOOTSTRAP_API_KEY'),
    /** API key with which commands access a running service. */
    apiKey: setting('SKEIN_API_KEY'),
    /** URL at which commands reach the service. When absent, it is on this machine. */
    remoteUrl: setting('SKEIN_URL'),
    wireDialect: oneOf(setting, 'WIRE_DIALECT', WIRE_DIALECTS),
    /** Limit of an inflated request body. */
    maxBodyBytes,
    /** Limit of an inflated body of the two operations that carry trajectory groups. */
    maxTrainingBodyBytes: integer(setting, 'MAX_TRAINING_BODY_BYTES', 256 * MIB, [
      1024,
      1024 * MIB,
    ]),
    /** Number or addresses of proxies whose headers with a client's address are trusted. */
    trustProxy: proxies(setting),
    /** Limits of each key per minute; 0 is no limit. */
    rateLimitRequestsPerMinute,
    rateLimitBytesPerMinute,
    /** Limits of all keys of an entity together; ten times the limit of a key by default. */
    rateLimitEntityRequestsPerMinute: integer(
      setting,
      'RATE_LIMIT_ENTITY_REQUESTS_PER_MINUTE',
      10 * rateLimitRequestsPerMinute,
      [0, 1e10],
    ),
    rateLimitEntityBytesPerMinute: integer(
      setting,
      'RATE_LIMIT_ENTITY_BYTES_PER_MINUTE',
      10 * rateLimitBytesPerMinute,
      [0, 1e16],
    ),
    /** Most keys of an entity, including those that have ended. */
    maxKeysPerEntity: integer(setting, 'MAX_KEYS_PER_ENTITY', 1000, [1, 1e6]),
    /** Memory that the request bodies in this process may use, parsed copies included. */
    bodyBudgetBytes: integer(setting, 'BODY_BUDGET_BYTES', bodyBudget, [
      LEAST_BUDGET,
      1024 * 1024 * MIB,
    ]),
    /** Longest pause of a client that sends a request, and the longest delay behind the lowest speed. */
    bodyTimeoutSeconds: integer(setting, 'BODY_TIMEOUT_SECONDS', 20, [1, 3600]),
    /** A trainer that sends nothing for this long loses its job. */
    trainerLeaseSeconds: integer(setting, 'TRAINER_LEASE_SECONDS', 60, [1, DAY_SECONDS]),
    /** Interval in which trainers report, and in which lost trainers are searched. */
    trainerHeartbeatSeconds: integer(setting, 'TRAINER_HEARTBEAT_SECONDS', 15, [1, 3600]),
    trainerMaxAttempts: integer(setting, 'TRAINER_MAX_ATTEMPTS', 3, [1, 100]),
    /** A training job fails after it has waited for a trainer, or an attempt has run, for this long. */
    trainingLimitSeconds: integer(setting, 'TRAINING_LIMIT_SECONDS', DAY_SECONDS, [
      1,
      30 * DAY_SECONDS,
    ]),
    /** Interval in which data beyond the retention of its project is searched. */
    retentionIntervalSeconds: integer(setting, 'RETENTION_INTERVAL_SECONDS', 3600, [
      1,
      DAY_SECONDS,
    ]),
    /** Retention of projects without a policy of their own; null for ever. */
    retentionDefault: readRetentionDefault(setting),
    ...backupSettings(setting),
    ...signInSettings(setting),
    ...gatewaySettings(setting, maxBodyBytes),
    ...quotaSettings(setting),
    /** Endpoint for traces of the service itself. The SDK reads this and its other settings from the environment. */
    otlpEndpoint: setting('OTEL_EXPORTER_OTLP_ENDPOINT'),
    logLevel: oneOf(setting, 'LOG_LEVEL', [
      'info',
      'fatal',
      'error',
      'warn',
      'debug',
      'trace',
      'silent',
    ]),
    /** True to log a line at level info for each request. */
    logRequests: oneOf(setting, 'LOG_REQUESTS', ['false', 'true']) === 'true',
    logFormat: oneOf(
      setting,
      'LOG_FORMAT',
      process.stdout.isTTY ? ['pretty', 'json'] : ['json', 'pretty'],
    ),
    /** Processes that share the port. */
    workers,
    /** Time for which requests are still accepted after SIGTERM, until the load balancer has noticed it. */
    shutdownDelaySeconds: integer(setting, 'SHUTDOWN_DELAY_SECONDS', 0, [0, 3600]),
    /** True when npm started the service. Signals then reach npm, and its shell does not forward them. */
    isUnderNpm: setting('npm_lifecycle_event') === 'start',
  });
}

/** Returns the memory of the machine, or of its container. */
function usableBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

let knownFiles: number | undefined;

/** Returns the most files and connections that this process may have open. */
function openFiles(): number {
  if (knownFiles === undefined) {
    Object.assign(process.report, { excludeNetwork: true }); // the report would resolve host names
    const { userLimits } = process.report.getReport() as unknown as {
      userLimits?: { open_files?: { soft?: number | 'unlimited' } };
    };
    const soft = Number(userLimits?.open_files?.soft);
    knownFiles = soft > 0 ? soft : Infinity;
  }
  return knownFiles;
}

export type Config = ReturnType<typeof loadConfig>;

function proxies(setting: SettingReader): number | string[] {
  const text = setting('TRUST_PROXY') ?? '0';
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const networks = text.split(',').map((network) => network.trim());
  if (!networks.every(isNetwork))
    throw new InvalidSetting(
      `TRUST_PROXY must be a number of proxies, or addresses and CIDRs with commas between, got "${text}"`,
    );
  return networks;
}

function hosts(setting: SettingReader): readonly string[] | null {
  const text = setting('ALLOWED_HOSTS');
  if (text === undefined) return null;
  const names = text.split(',').map((name) => name.trim().toLowerCase());
  if (!names.every((name) => /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])$/.test(name)))
    throw new InvalidSetting(
      `ALLOWED_HOSTS must be names or addresses of hosts without a port, with commas between, got "${text}"`,
    );
  return names;
}

function isNetwork(text: string): boolean {
  const [address, bits = '0', ...rest] = text.split('/');
  const version = isIP(address!);
  return (
    version > 0 &&
    rest.length === 0 &&
    /^\d{1,3}$/.test(bits) &&
    Number(bits) <= (version === 4 ? 32 : 128)
  );
}

function postgresFlags(setting: SettingReader): string[] {
  const texts = setting('POSTGRES_SETTINGS')?.trim().split(/\s+/) ?? [];
  for (const text of texts)
    if (!/^[a-z_.]+=[^\s=]+$/.test(text))
      throw new InvalidSetting(
        `POSTGRES_SETTINGS must hold settings as name=value, with blanks between them, got "${text}"`,
      );
  return texts.flatMap((text) => ['-c', text]);
}

/** Returns the URL of the service for programs on this machine. */
export function serviceUrl({ host, port }: Pick<Config, 'host' | 'port'>): string {
  return `http://${/^(0\.0\.0\.0|::1?)$/.test(host) ? '127.0.0.1' : host}:${port}`;
}
