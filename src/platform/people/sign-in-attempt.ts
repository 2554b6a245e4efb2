import type { IncomingMessage } from 'node:http';
import { cookieName, cookieValue } from '../auth/session-cookie.js';

/** How long a person may take at the provider. */
export const ATTEMPT_SECONDS = 15 * 60;
const MAX_PLACE = 2000;

/** A sign-in that has begun. It is kept in the person's browser alone, so that nobody without an account can store anything. */
export interface SignInAttempt {
  /** The number of the provider. */
  provider: string;
  state: string;
  nonce: string;
  /** Of PKCE: a code that was stolen on its way is worth nothing without it. */
  verifier: string;
  /** Where the person wanted to go. */
  to: string;
  /** When it began, in milliseconds. */
  at: number;
}

type WithHeaders = Pick<IncomingMessage, 'headers'>;

/** Over TLS the name begins with `__Host-`: no other host of the domain can set such a cookie, and begin a sign-in for the person. */
export const attemptCookie = (request: WithHeaders, isByTls: boolean): string =>
  `${isByTls ? '__Host-' : ''}${cookieName('skein_sign_in', request)}`;

export const attemptText = (attempt: SignInAttempt): string =>
  Buffer.from(JSON.stringify(attempt)).toString('base64url');

/** The attempt of a browser; null where there is none, or it is too old. */
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

/** Where a person may be sent after the sign-in: a page of the console. Everything else becomes its first page. */
export function pageOfConsole(to: unknown): string {
  const home = '/console/';
  if (typeof to !== 'string' || to.length > MAX_PLACE) return home;
  if (!to.startsWith(home) || /[^\x21-\x7e]|\\/.test(to)) return home;
  const { origin, pathname, search, hash } = new URL(to, 'http://here.invalid');
  return origin === 'http://here.invalid' && pathname.startsWith(home)
    ? `${pathname}${search}${hash}`
    : home;
}
