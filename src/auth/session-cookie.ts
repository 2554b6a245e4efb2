import type { Request } from 'express';

/** The name of the cookie that holds a session's token. */
export const SESSION_COOKIE = 'skein_session';
/** A page of another origin cannot set it without our leave, which nobody gets: we answer no CORS preflight. */
export const CONSOLE_HEADER = 'x-skein-console';
/** No browser knows the scheme: one that it knows would make it ask for a password. */
export const SESSION_CHALLENGE = 'Session realm="skein"';

export const isSessionToken = (text: string): boolean => /^[\w-]{43}$/.test(text);

const COOKIE = new RegExp(`(?:^|;\\s*)${SESSION_COOKIE}=([\\w-]{43})(?:;|$)`);

export const isFromConsole = ({ headers }: Request): boolean =>
  headers[CONSOLE_HEADER] !== undefined;

/** The token that a request of the console carries. A cookie alone counts for nothing: any page could send it. */
export function sessionTokenOf(request: Request): string | undefined {
  if (!isFromConsole(request)) return undefined;
  return COOKIE.exec(request.headers.cookie ?? '')?.[1];
}
