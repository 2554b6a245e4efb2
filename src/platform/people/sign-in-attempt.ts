import type { IncomingMessage } from 'node:http';
import { cookieName, cookieValue } from '../auth/sessions/session-cookie.js';

/** Longest time that a person may spend at the provider. */
export const ATTEMPT_SECONDS = 15 * 60;
const MAX_PLACE = 2000;

/**
 * A sign-in in progress. Only the person's browser stores it, so nobody without an account can make the service store
 * anything.
 */
export interface SignInAttempt {
  /** The number of the provider. */
  provider: string;
  state: string;
  nonce: string;
  /** PKCE verifier, without which a stolen code is useless. */
  verifier: string;
  /** The page to open after the sign-in. */
  to: string;
  /** Start of the attempt, in milliseconds. */
  at: number;
}

type WithHeaders = Pick<IncomingMessage, 'headers'>;

/**
 * Returns the name of the cookie. Over TLS it begins with `__Host-`, so that no other host of the domain can set this
 * cookie and begin a sign-in for the person.
 */
export const attemptCookie = (request: WithHeaders, isByTls: boolean): string =>
  `${isByTls ? '__Host-' : ''}${cookieName('skein_sign_in', request)}`;

export const attemptText = (attempt: SignInAttempt): string =>
  Buffer.from(JSON.stringify(attempt)).toString('base64url');

/** Returns the attempt of a browser. Null without one, or when it is too old. */
export function readAttempt(request: WithHeaders, isByTls: boolean): SignInAttempt | null {
  const text = cookieValue(request, attemptCookie(request, isByTls));
  if (text === undefined) return null;
  try {
    const attempt = JSON.parse(Buffer.from(text, 'base64url').toString()) as SignInAttempt;
    const { provider, state, nonce, verifier, at } = attempt;
    const areTexts = [provider, state, nonce, verifier].every((each) => typeof each === 'string');
    const age = Date.now() - at;
    return areTexts && age >= 0 && age < ATTEMPT_SECONDS * 1000 ? attempt : null;
  } catch {
    return null;
  }
}

/** Returns the console page to open after the sign-in. Any other URL is replaced by the start page. */
export function pageOfConsole(to: unknown): string {
  const home = '/console/';
  if (typeof to !== 'string' || to.length > MAX_PLACE) return home;
  if (!to.startsWith(home) || /[^\x21-\x7e]|\\/.test(to)) return home;
  const { origin, pathname, search, hash } = new URL(to, 'http://here.invalid');
  return origin === 'http://here.invalid' && pathname.startsWith(home)
    ? `${pathname}${search}${hash}`
    : home;
}
