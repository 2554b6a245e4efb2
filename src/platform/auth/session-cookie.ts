import type { IncomingMessage } from 'node:http';

type Headed = Pick<IncomingMessage, 'headers'>;

/** A page of another origin cannot set it without our leave, which nobody gets: we answer no CORS preflight. */
const CONSOLE_HEADER = 'x-skein-console';
/** No browser knows the scheme: one that it knows would make it ask for a password. */
export const SESSION_CHALLENGE = 'Session realm="skein"';

export const isSessionToken = (text: string): boolean => /^[\w-]{43}$/.test(text);

/**
 * The name of the cookie that holds a session's token. Cookies know no ports: with the one that the browser asks, two
 * services on one host leave each other's sessions alone.
 */
export function sessionCookieOf({ headers }: Headed): string {
  const port = /:(\d{1,5})$/.exec(headers.host ?? '')?.[1];
  return port === undefined ? 'skein_session' : `skein_session_${port}`;
}

export const isFromConsole = ({ headers }: Headed): boolean =>
  headers[CONSOLE_HEADER] !== undefined;

/** The token that a request of the console carries. A cookie alone is not enough: any page could send it. */
export function sessionTokenOf(request: Headed): string | undefined {
  if (!isFromConsole(request)) return undefined;
  const before = `${sessionCookieOf(request)}=`;
  const cookies = (request.headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
  const token = cookies.find((cookie) => cookie.startsWith(before))?.slice(before.length);
  return token !== undefined && isSessionToken(token) ? token : undefined;
}
