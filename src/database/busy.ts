/**
 * What was asked is possible, but not now: too much of it is under way. The request is answered 503 with the message;
 * `common/errors.ts`, which must not import this folder, knows the error by its name.
 */
export class Busy extends Error {
  override readonly name = 'Busy';
}
