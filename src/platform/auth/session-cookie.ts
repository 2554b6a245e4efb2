import type { IncomingMessage } from 'node:http';

type WithHeaders = Pick<IncomingMessage, 'headers'>;

/** A page of another origin cannot set it without our leave, which nobody gets: we answer no CORS preflight. */
const CONSOLE_HEADER = 'x-skein-console';
/** No browser knows the scheme: one that it knows would make it ask for a password. */
export const SESSION_CHALLENGE = 'Session realm="skein"';

export const isSessionToken = (text: string): boolean => /^[\w-]{43}$/.test(text);

/** Cookies know no ports: with the one that the browser asks, two services on one host leave each other's cookies alone. */
export function cookieName(name: string, { headers }: WithHeaders): string {
  const port = /:(\d{1,5})$/.exec(headers.host ?? '')?.[1];
  return port === undefined ? name : `${name}_${port}`;
}

export function cookieValue({ headers }: WithHeaders, name: string): string | undefined {
  const before = `${name}=`;
  const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(before))?.slice(before.length);
}

/** The name of the cookie that holds a session's token. */
export const sessionCookieName = (request: WithHeaders): string =>
  cookieName('skein_session', request);

export const isFromConsole = ({ headers }: WithHeaders): boolean =>
  headers[CONSOLE_HEADER] !== undefined;

/** The token that a request of the console carries. A cookie alone is not enough: any page could send it. */
export function sessionToken(request: WithHeaders): string | undefined {
  if (!isFromConsole(request)) return undefined;
  const token = cookieValue(request, sessionCookieName(request));
  return token !== undefined && isSessionToken(token) ? token : undefined;
}
