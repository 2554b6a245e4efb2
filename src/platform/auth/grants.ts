import type { SignInProvider } from '../config/sign-in-settings.js';
import { PROJECT_PART } from '../http/dto.js';
import type { ApiKey, Role } from './api-key.entity.js';

const RANK: Record<Role, number> = { trainer: 0, reader: 1, writer: 2, admin: 3 };

/** A trainer has no rank among the others; an admin may do everything. */
export function mayAct(own: Role, asked: Role): boolean {
  if (asked === 'trainer') return own === 'trainer' || own === 'admin';
  return RANK[own] >= RANK[asked];
}

/** A role in scopes. In a project the highest of those counts whose scopes reach it. */
export interface Grant {
  readonly role: Role;
  readonly scopes: readonly string[];
}

/** A person as the database has them, with the roles that were given to them and to their groups. */
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

/** What is written and told of a person: nobody chooses a verified e-mail address, nor the subject at a provider. */
export function personName({ email, emailVerified, issuer, subject }: PersonName): string {
  return emailVerified && email !== null ? email : `${new URL(issuer).host}#${subject}`;
}
type PersonName = Pick<Person, 'email' | 'emailVerified' | 'issuer' | 'subject'>;

/**
 * What a person may do now. Who is not active may do nothing, nor may one whose provider is not set any more: nobody could
 * tell whether they are still there. The same holds for an address of a domain that may not sign in (any more).
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

/** Whether people with such an address may sign in. */
export function isDomainAllowed(
  { email, emailVerified }: Pick<Person, 'email' | 'emailVerified'>,
  domains: readonly string[] | null,
): boolean {
  if (domains === null) return true;
  if (email === null || !emailVerified) return false;
  return domains.includes(email.slice(email.lastIndexOf('@') + 1));
}

/** Whether the settings make the person an admin of everything. */
const isAdmin = ({ email, emailVerified, groups }: Person, { admins }: SignInProvider): boolean =>
  admins.some((admin) =>
    admin.includes('@') ? emailVerified && email === emailKey(admin) : groups.includes(admin),
  );

/** What both the key and its person may do. */
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

/** Whether grants reach no further than others. */
export const areWithin = (inner: readonly Grant[], outer: readonly Grant[]): boolean =>
  inner.every(({ role, scopes }) =>
    scopes.every((scope) =>
      outer.some(
        (own) => mayAct(own.role, role) && own.scopes.some((each) => scopeCovers(each, scope)),
      ),
    ),
  );

/**
 * An e-mail address as it is compared: only A to Z become small. Unicode has letters that become an ASCII letter when they
 * are made small (the Kelvin sign), and others that look like one: those are other addresses.
 */
export const emailKey = (email: string): string =>
  email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Whether a scope covers a project, or a narrower scope. */
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
