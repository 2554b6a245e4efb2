import type { WithHeaders } from '../../http/inflated-body.js';

/**
 * Header of console requests. A page of another origin would need a CORS preflight to set it, and the service answers
 * none.
 */
const CONSOLE_HEADER = 'x-skein-console';
/** Unknown to browsers. A scheme that they know would make them prompt for a password. */
export const SESSION_CHALLENGE = 'Session realm="skein"';

export const isSessionToken = (text: string): boolean => /^[\w-]{43}$/.test(text);

/** Adds the requested port to a cookie's name. Cookies ignore ports, so two services on one host would share a name. */
export function cookieName(name: string, { headers }: WithHeaders): string {
  const port = /:(\d{1,5})$/.exec(headers.host ?? '')?.[1];
  return port === undefined ? name : `${name}_${port}`;
}

export function cookieValue({ headers }: WithHeaders, name: string): string | undefined {
  const before = `${name}=`;
  const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(before))?.slice(before.length);
}

export const sessionCookieName = (request: WithHeaders): string =>
  cookieName('skein_session', request);

export const isFromConsole = ({ headers }: WithHeaders): boolean =>
  headers[CONSOLE_HEADER] !== undefined;

/** Returns the session token of a cookie, which alone allows nothing: any page could send it. */
export function sessionCookie(request: WithHeaders): string | undefined {
  const token = cookieValue(request, sessionCookieName(request));
  return token !== undefined && isSessionToken(token) ? token : undefined;
}

/** Returns the session token of a console request. */
export const sessionToken = (request: WithHeaders): string | undefined =>
  isFromConsole(request) ? sessionCookie(request) : undefined;
