import { integer, InvalidSetting, jsonList, oneOf, type SettingReader } from './setting.js';
import { MEMBER_ROLES, type MemberRole, ROLES } from '../roles.js';

/** Further providers are `OIDC_1_…` to `OIDC_9_…`. */
const MOST_PROVIDERS = 9;
const SCOPE = /^(\*|[\w.-]{1,128}\/(\*|[\w.-]{1,128}))$/;

/** An OpenID Connect provider that people sign in with. */
export interface SignInProvider {
  /** Number of the provider in its URLs: `0`, or the number in the names of its settings. */
  number: string;
  issuer: string;
  /** Name in the console. */
  name: string;
  clientId: string;
  clientSecret: string | undefined;
  /** Scopes that are requested, separated by spaces. */
  scopes: string;
  groupsClaim: string;
  /** Verified e-mail addresses, and groups, of the admins of everything. */
  admins: readonly string[];
  /** The role of everybody who signs in. */
  defaultGrant: { role: MemberRole; scope: string } | null;
  /** Domains of verified e-mail addresses, in lower case; null for any. */
  allowedDomains: readonly string[] | null;
}

/** An issuer whose tokens are accepted as Bearer. */
export interface TokenIssuer {
  issuer: string;
  audience: string;
  /** URL of its keys. The default is the URL in its discovery document. */
  jwksUri: string | undefined;
  /** Claims that a token must have to get the role in the scopes. */
  claims: Readonly<Record<string, string>>;
  role: 'reader' | 'writer' | 'admin' | 'trainer';
  scopes: readonly string[];
}

export function signInSettings(setting: SettingReader) {
  const providers = [];
  for (let number = 0; number <= MOST_PROVIDERS; number++) {
    const provider = readProvider(setting, number);
    if (provider) providers.push(provider);
  }
  const publicUrl = readOrigin(setting, 'PUBLIC_URL');
  if (providers.length > 0 && publicUrl === undefined)
    throw new InvalidSetting(
      'PUBLIC_URL must be set when OIDC_ISSUER is: the provider sends people back to it',
    );
  const issuers = providers.map(({ issuer }) => issuer);
  const twice = issuers.find((issuer, at) => issuers.indexOf(issuer) !== at);
  if (twice !== undefined)
    throw new InvalidSetting(`OIDC_ISSUER and OIDC_<n>_ISSUER must differ, got "${twice}" twice`);
  return {
    /** Origin at which browsers reach the service. */
    publicUrl,
    signInProviders: providers as readonly SignInProvider[],
    /** True when the console accepts keys. It always accepts login codes. */
    consoleKeySignIn: oneOf(setting, 'CONSOLE_KEY_SIGN_IN', ['true', 'false']) === 'true',
    personalKeyDays: integer(setting, 'PERSONAL_KEY_DAYS', 365, [1, 3650]),
    tokenIssuers: tokenIssuers(setting),
  };
}

function readProvider(setting: SettingReader, number: number): SignInProvider | null {
  const prefix = number === 0 ? 'OIDC_' : `OIDC_${number}_`;
  const named = (name: string) => `${prefix}${name}`;
  const issuer = readUrl(setting, named('ISSUER'));
  if (number > 0 && issuer === undefined) return null;
  const clientId = setting(named('CLIENT_ID'));
  const name = setting(named('NAME'));
  const provider = {
    number: String(number),
    clientSecret: setting(named('CLIENT_SECRET')),
    scopes: setting(named('SCOPES')) ?? 'openid profile email',
    groupsClaim: setting(named('GROUPS_CLAIM')) ?? 'groups',
    admins: readList(setting, named('ADMINS')),
    defaultGrant: readGrant(setting, named('DEFAULT_ROLE')),
    allowedDomains: readDomains(setting, named('ALLOWED_DOMAINS')),
  };
  if (issuer === undefined) return null;
  if (clientId === undefined)
    throw new InvalidSetting(`${named('CLIENT_ID')} must be set when ${named('ISSUER')} is`);
  if (!provider.scopes.split(' ').includes('openid'))
    throw new InvalidSetting(`${named('SCOPES')} must hold openid, got "${provider.scopes}"`);
  return { ...provider, issuer, clientId, name: name ?? new URL(issuer).host };
}

/** Reads an https URL. http is accepted for this machine only. */
function readUrl(setting: SettingReader, name: string): string | undefined {
  const text = setting(name);
  if (text === undefined) return undefined;
  if (!isSafeUrl(text))
    throw new InvalidSetting(
      `${name} must be an https URL without user, query and fragment (http is for 127.0.0.1, ::1 and localhost), got "${text}"`,
    );
  return text;
}

function readOrigin(setting: SettingReader, name: string): string | undefined {
  const text = readUrl(setting, name);
  if (text === undefined) return undefined;
  const { origin, pathname } = new URL(text);
  if (pathname !== '/') throw new InvalidSetting(`${name} must have no path, got "${text}"`);
  return origin;
}

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** Returns true when secrets may be sent to the URL. */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (`${username}${password}${search}${hash}` !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
}

/** Reads a list: items separated by commas, or a JSON list when an item contains a comma. */
function readList(setting: SettingReader, name: string): string[] {
  const text = setting(name)?.trim() ?? '';
  if (!text.startsWith('[')) return text.split(',').flatMap((item) => item.trim() || []);
  const list = jsonList(setting, name);
  if (!list.every((item) => typeof item === 'string'))
    throw new InvalidSetting(`${name} must be a JSON list of texts, or texts with commas between`);
  return list;
}

function readDomains(setting: SettingReader, name: string): string[] | null {
  const domains = readList(setting, name);
  if (domains.length === 0) return null;
  const bad = domains.find((domain) => !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(domain));
  if (bad !== undefined)
    throw new InvalidSetting(`${name} must hold domains such as example.com, got "${bad}"`);
  return domains.map((domain) => domain.toLowerCase());
}

function readGrant(setting: SettingReader, name: string): SignInProvider['defaultGrant'] {
  const text = setting(name);
  if (text === undefined) return null;
  const [word, scope = '*', ...rest] = text.split(' ');
  const role = MEMBER_ROLES.find((known) => known === word);
  if (!role || !SCOPE.test(scope) || rest.length > 0)
    throw new InvalidSetting(
      `${name} must be one of ${MEMBER_ROLES.join(', ')}, or one of them, a blank and a scope ("reader acme/*"), got "${text}"`,
    );
  return { role, scope };
}

const TOKEN_ISSUER = new Set(['issuer', 'audience', 'jwks_uri', 'claims', 'role', 'scopes']);

function tokenIssuers(setting: SettingReader): readonly TokenIssuer[] {
  return jsonList(setting, 'JWT_ISSUERS').map((given, at) => {
    const item = given as Record<string, unknown>;
    const fault = findFault(item);
    if (fault !== undefined) throw new InvalidSetting(`JWT_ISSUERS[${at}]${fault}`);
    const { jwks_uri: jwksUri, ...rest } = item;
    return { jwksUri, ...rest } as unknown as TokenIssuer;
  });
}

function findFault(item: Record<string, unknown> | null): string | undefined {
  if (typeof item !== 'object' || item === null) return ' must be an object';
  const unknown = Object.keys(item).find((name) => !TOKEN_ISSUER.has(name));
  if (unknown !== undefined) return `.${unknown} is unknown`;
  const { issuer, audience, jwks_uri, claims, role, scopes } = item;
  const isUrl = (value: unknown) => typeof value === 'string' && isSafeUrl(value);
  if (!isUrl(issuer)) return '.issuer must be an https URL';
  if (jwks_uri !== undefined && !isUrl(jwks_uri)) return '.jwks_uri must be an https URL';
  if (typeof audience !== 'string' || audience === '') return '.audience must be a text';
  if (!areClaims(claims))
    return '.claims must be an object of at least one text: without one, every token of the issuer would be let in';
  if (!ROLES.includes(role as never)) return `.role must be one of ${ROLES.join(', ')}`;
  if (!areScopes(scopes)) return '.scopes must be a list of *, <entity>/* or <entity>/<project>';
  return undefined;
}

const areScopes = (scopes: unknown) =>
  Array.isArray(scopes) &&
  scopes.length > 0 &&
  scopes.every((scope) => typeof scope === 'string' && SCOPE.test(scope));

function areClaims(claims: unknown): boolean {
  if (typeof claims !== 'object' || claims === null) return false;
  const values = Object.values(claims);
  return values.length > 0 && values.every((value) => typeof value === 'string' && value !== '');
}
