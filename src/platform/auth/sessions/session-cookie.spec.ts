import { sessionCookieName, sessionToken } from './session-cookie.js';

const token = 'a'.repeat(43);
const of = (cookie: string | undefined, isConsole = true, host = 'skein.local') =>
  sessionToken({
    headers: {
      host,
      ...(isConsole && { 'x-skein-console': '1' }),
      ...(cookie !== undefined && { cookie }),
    },
  });

it.each([
  [`skein_session=${token}`, token],
  [`a=b; skein_session=${token}; c=d`, token],
  [`x_skein_session=${token}`, undefined],
  [`skein_session=${token}a`, undefined],
  ['skein_session=', undefined],
  [undefined, undefined],
])('of the cookies %s the token is %s', (cookie, expected) => {
  expect(of(cookie)).toBe(expected);
});

it('a cookie without the header of the console counts for nothing', () => {
  expect(of(`skein_session=${token}`, false)).toBeUndefined();
});

it.each([
  ['127.0.0.1:3000', 'skein_session_3000'],
  ['[::1]:3001', 'skein_session_3001'],
  ['skein.example', 'skein_session'],
  ['[::1]', 'skein_session'],
])('at %s the cookie is %s', (host, name) => {
  expect(sessionCookieName({ headers: { host } })).toBe(name);
  expect(of(`${name}=${token}`, true, host)).toBe(token);
  expect(of(`skein_session_9=${token}`, true, host)).toBeUndefined();
});
