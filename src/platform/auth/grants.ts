import type { SignInProvider } from '../config/sign-in-settings.js';
import { PROJECT_PART } from '../http/dto.js';
import type { Role } from '../roles.js';
import type { ApiKey } from './keys/api-key.entity.js';

const RANK: Record<Role, number> = { trainer: 0, reader: 1, writer: 2, admin: 3 };

/**
 * Returns true when the role includes the other role. `trainer` is outside the ranking, and an admin may do everything.
 */
export function mayAct(own: Role, asked: Role): boolean {
  if (asked === 'trainer') return own === 'trainer' || own === 'admin';
  return RANK[own] >= RANK[asked];
}

/** A role in scopes. When several scopes reach a project, the highest of their roles counts. */
export interface Grant {
  readonly role: Role;
  readonly scopes: readonly string[];
}

/** A person as stored, with the roles given to them and to their groups. */
export interface Person {
  id: string;
  issuer: string;
  subject: string;
  email: string | null;
  emailVerified: boolean;
  name: string | null;
  groups: string[];
  isActive: boolean;
  memberships: { role: Role; scope: string }[];
}

/**
 * Returns the name of a person in data, logs and answers: the verified e-mail address, or the subject at the provider.
 * A person can choose neither.
 */
export function personName({ email, emailVerified, issuer, subject }: PersonName): string {
  return emailVerified && email !== null ? email : `${new URL(issuer).host}#${subject}`;
}
type PersonName = Pick<Person, 'email' | 'emailVerified' | 'issuer' | 'subject'>;

/**
 * Returns the current grants of a person. An inactive person has none. Neither has a person whose provider is no longer
 * configured, since nobody could check that the account still exists, or whose e-mail domain may not sign in.
 */
export function grantsTo(person: Person, providers: readonly SignInProvider[]): Grant[] {
  const provider = providers.find(({ issuer }) => issuer === person.issuer);
  if (!person.isActive || !provider || !isDomainAllowed(person, provider.allowedDomains)) return [];
  const given = [...person.memberships];
  if (provider.defaultGrant) given.push(provider.defaultGrant);
  if (isAdmin(person, provider)) given.push({ role: 'admin', scope: '*' });
  const scopes = new Map<Role, string[]>();
  for (const { role, scope } of given) scopes.set(role, [...(scopes.get(role) ?? []), scope]);
  return [...scopes].map(([role, own]) => ({ role, scopes: [...new Set(own)] }));
}

export function isDomainAllowed(
  { email, emailVerified }: Pick<Person, 'email' | 'emailVerified'>,
  domains: readonly string[] | null,
): boolean {
  if (domains === null) return true;
  if (email === null || !emailVerified) return false;
  return domains.includes(email.slice(email.lastIndexOf('@') + 1));
}

const isAdmin = ({ email, emailVerified, groups }: Person, { admins }: SignInProvider): boolean =>
  admins.some((admin) =>
    admin.includes('@') ? emailVerified && email === emailKey(admin) : groups.includes(admin),
  );

export function intersectGrants(
  grants: readonly Grant[],
  key: Pick<ApiKey, 'role' | 'scopes'>,
): Grant[] {
  return grants.flatMap(({ role, scopes }) => {
    const lower = mayAct(role, key.role) ? key.role : mayAct(key.role, role) ? role : undefined;
    const common = scopes.flatMap((scope) =>
      key.scopes.flatMap((own) => narrowerScope(scope, own)),
    );
    return lower !== undefined && common.length > 0
      ? [{ role: lower, scopes: [...new Set(common)] }]
      : [];
  });
}

function narrowerScope(one: string, other: string): string[] {
  if (scopeCovers(one, other)) return [other];
  return scopeCovers(other, one) ? [one] : [];
}

export const areWithin = (inner: readonly Grant[], outer: readonly Grant[]): boolean =>
  inner.every(({ role, scopes }) =>
    scopes.every((scope) =>
      outer.some(
        (own) => mayAct(own.role, role) && own.scopes.some((each) => scopeCovers(each, scope)),
      ),
    ),
  );

/**
 * Returns an e-mail address in the form that is compared: only A to Z become lower case. Unicode has letters that
 * become an ASCII letter in lower case (the Kelvin sign), and letters that look like one. Those are other addresses.
 */
export const emailKey = (email: string): string =>
  email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Returns true when the scope covers a project or a narrower scope. */
export function scopeCovers(scope: string, inner: string): boolean {
  return (
    scope === '*' ||
    scope === inner ||
    (scope.endsWith('/*') && inner.startsWith(scope.slice(0, -1)))
  );
}

const SCOPE = new RegExp(`^(\\*|${PROJECT_PART}/(\\*|${PROJECT_PART}))$`);
export const isScope = (text: unknown): text is string =>
  typeof text === 'string' && SCOPE.test(text);
