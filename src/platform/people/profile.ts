import { emailKey } from '../auth/grants.js';
import { isStorable } from '../http/dto.js';
import type { SignInProvider } from '../config/sign-in-settings.js';

/** Most groups of a person, and the longest group name. */
const MAX_GROUPS = 1000;
const MAX_GROUP = 256;
const MAX_TEXT = 320;
/** Limit of OpenID Connect. */
const MAX_SUBJECT = 255;

/** The data of a person that a provider reports. */
export interface Profile {
  issuer: string;
  subject: string;
  email: string | null;
  emailVerified: boolean;
  name: string | null;
  groups: string[];
}

type Claims = Record<string, unknown>;

/**
 * Reads the claims of an ID token, and from the userinfo endpoint those that the token lacks. An address and its
 * verification come from the same source.
 * @throws Error when the subject is not valid
 */
export function readProfile(
  { issuer, groupsClaim }: Pick<SignInProvider, 'issuer' | 'groupsClaim'>,
  idToken: Claims,
  userInfo: Claims,
): Profile {
  const subject = text(idToken['sub'], MAX_SUBJECT);
  if (subject === null || /\p{Cc}/u.test(subject))
    throw new Error(`the subject must have 1 to ${MAX_SUBJECT} characters, none of control`);
  const withEmail = idToken['email'] === undefined ? userInfo : idToken;
  const email = text(withEmail['email'], MAX_TEXT);
  const isVerified = withEmail['email_verified'];
  return {
    issuer,
    subject,
    email: email === null ? null : emailKey(email),
    emailVerified: email !== null && (isVerified === true || isVerified === 'true'),
    name: text(idToken['name'] ?? userInfo['name'], MAX_TEXT),
    groups: groups(idToken[groupsClaim] ?? userInfo[groupsClaim]),
  };
}

/** Reads a list of groups. A single string is one group, even with commas in it. */
function groups(claim: unknown): string[] {
  const list: unknown[] = Array.isArray(claim) ? claim : [claim];
  const names = list.flatMap((name) => text(name, MAX_GROUP) ?? []);
  return [...new Set(names)].slice(0, MAX_GROUPS);
}

/** Returns null for a value that is not a storable text. */
const text = (value: unknown, max: number): string | null =>
  isStorable(value) && value !== '' && value.length <= max ? value : null;
