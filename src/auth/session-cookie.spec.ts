import type { Request } from 'express';
import { sessionTokenOf } from './session-cookie.js';

const token = 'a'.repeat(43);
const of = (cookie: string | undefined, isConsole = true) =>
  sessionTokenOf({
    headers: {
      ...(isConsole && { 'x-skein-console': '1' }),
      ...(cookie !== undefined && { cookie }),
    },
  } as unknown as Request);

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
