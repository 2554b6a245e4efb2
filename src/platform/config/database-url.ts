import { InvalidSetting, type SettingReader } from './setting.js';

/** Values of libpq's `target_session_attrs` with which the service can write. */
const SESSION_ATTRIBUTES = ['any', 'read-write', 'primary'];
const MAX_HOSTS = 16;

/** Reads DATABASE_URL. Messages never contain the value, because it holds a password. */
export function databaseUrl(setting: SettingReader): string | undefined {
  const password = setting('DATABASE_PASSWORD');
  const given = withPassword(setting('DATABASE_URL'), password);
  if (given === undefined) return undefined;
  if (/[?#].*@|#/.test(given))
    throw new InvalidSetting(
      'DATABASE_URL holds a # or a ? that ends it too early: put the password into DATABASE_PASSWORD as it is',
    );
  if (!/^postgres(ql)?:\/\//.test(given))
    throw new InvalidSetting('DATABASE_URL must start with postgres:// or postgresql://');
  const url = withHostParameters(given);
  try {
    // the driver's reading: socket paths in place of a host, and escapes
    const { href, searchParams } = new URL(url.replace(/@\//, '@localhost/'));
    decodeURI(href);
    assertHosts(searchParams);
  } catch (error) {
    if (error instanceof InvalidSetting) throw error;
    throw new InvalidSetting('DATABASE_URL must be a URL, with % only in escapes such as %40');
  }
  return url;
}

/** Inserts the separate password, which may contain any characters. Within a URL many must be escaped. */
function withPassword(url: string | undefined, password: string | undefined): string | undefined {
  if (password === undefined) return url;
  const parts = /^(\w+:\/\/[^/?#@:]+)(?::[^/?#@]*)?(@.*)$/.exec(url ?? '');
  if (!parts)
    throw new InvalidSetting(
      'DATABASE_PASSWORD needs a DATABASE_URL that names a user: postgres://user@host/database',
    );
  return `${parts[1]}:${encodeURIComponent(password)}${parts[2]}`;
}

/**
 * Moves several hosts into the parameters `host` and `port`. libpq reads both forms in the same way, and programs that
 * know URLs can read the result.
 */
function withHostParameters(url: string): string {
  const parts = /^(\w+:\/\/(?:[^/?#@]*@)?)([^/?#@]*,[^/?#]*)([^?]*)(?:\?(.*))?$/.exec(url);
  if (!parts) return url;
  const [, start, hosts, path, parameters] = parts as unknown as string[];
  const found = hosts!
    .split(',')
    .map((host) => /^([\w.-]+|\[[\da-f:.]+\])(?::(\d+))?$/i.exec(host));
  if (found.includes(null))
    throw new InvalidSetting(
      'DATABASE_URL must name each of its hosts as host or host:port, with commas between',
    );
  const names = found.map((host) => host![1]!.replace(/^\[(.*)\]$/, '$1'));
  const ports = found.map((host) => host![2] ?? '5432');
  const more = parameters ? `&${parameters}` : '';
  const [first] = found;
  return `${start}${first![1]}:${ports[0]}${path}?host=${names.join(',')}&port=${ports.join(',')}${more}`;
}

/** @throws InvalidSetting for hosts and attributes that `pg/hosts.ts` cannot use */
function assertHosts(parameters: URLSearchParams): void {
  const attributes = parameters.get('target_session_attrs') ?? 'any';
  if (!SESSION_ATTRIBUTES.includes(attributes))
    throw new InvalidSetting(
      `DATABASE_URL must have a target_session_attrs of ${SESSION_ATTRIBUTES.join(', ')}: the service writes`,
    );
  const hosts = parameters.get('host')?.split(',').length ?? 1;
  const ports = parameters.get('port')?.split(',') ?? [];
  if (hosts > MAX_HOSTS)
    throw new InvalidSetting(`DATABASE_URL must name at most ${MAX_HOSTS} hosts`);
  if (ports.length > 1 && ports.length !== hosts)
    throw new InvalidSetting('DATABASE_URL must name one port, or one for each host');
  if (!ports.every((port) => /^\d{1,5}$/.test(port) && Number(port) <= 65_535))
    throw new InvalidSetting('DATABASE_URL must have ports up to 65535');
}
