import { BadRequestException, NotFoundException } from '@nestjs/common';
import { InvalidQuery } from './query/columns.js';
import { ApiError, isRowError, toApiError } from './errors.js';
import { TooDeep } from './json/json-grammar.js';
import { JsonLimit } from './json/json-weight.js';

it.each<[unknown, string]>([
  [new ApiError('conflict', 'x'), 'conflict'],
  [new InvalidQuery('query.$expr', 'x'), 'invalid_request'],
  [new TooDeep(), 'invalid_request'],
  [new JsonLimit('x'), 'too_large'],
  [new JsonLimit('x', true), 'invalid_request'],
  [new NotFoundException(), 'not_found'],
  [new BadRequestException(), 'invalid_request'],
  [{ status: 413, limit: 5 }, 'too_large'],
  [{ status: 415, message: 'unsupported charset' }, 'unsupported_media_type'],
  [{ status: 400, message: 'request aborted' }, 'invalid_request'],
  [{ code: '22P05' }, 'invalid_request'],
  [{ code: '54001' }, 'invalid_request'],
  [{ code: '23505' }, 'conflict'],
  [{ code: '57P01' }, 'unavailable'],
  [{ code: '57014' }, 'unavailable'],
  [{ code: '55P03' }, 'unavailable'],
  [{ code: 'ERR_STRING_TOO_LONG' }, 'too_large'],
  [{ code: '53300' }, 'unavailable'],
  [{ code: '53100' }, 'unavailable'],
  [{ code: '53200' }, 'unavailable'],
  [{ code: '58030' }, 'unavailable'],
  [{ code: '25006' }, 'unavailable'],
  [{ code: '42501', message: 'could not open file "x": Read-only file system' }, 'unavailable'],
  [{ code: '42501', message: 'permission denied for table calls' }, 'internal'],
  [
    {
      code: 'XX000',
      message: 'could not commit transaction for shard 1 on at least one active node',
    },
    'unavailable',
  ],
  [
    { code: 'XX000', message: 'failure on connection marked as essential: worker:5432' },
    'unavailable',
  ],
  [{ code: 'XX000', message: 'cache lookup failed' }, 'internal'],
  [{ code: '40P01' }, 'unavailable'],
  [{ code: '55000', severity: 'FATAL' }, 'unavailable'],
  [{ code: 'ECONNREFUSED' }, 'unavailable'],
  [new Error('Connection terminated unexpectedly'), 'unavailable'],
  [new Error('timeout exceeded when trying to connect'), 'unavailable'],
  [{ code: '42P01', message: 'relation "calls" does not exist' }, 'internal'],
  [new TypeError('x is not a function'), 'internal'],
  [undefined, 'internal'],
  ['text', 'internal'],
])('%j is %s', (error, code) => expect(toApiError(error).code).toBe(code));

it('tells nothing of the inside', () => {
  const { message, cause } = toApiError({
    code: '42P01',
    message: 'relation "calls" does not exist',
  });
  expect(message).not.toContain('calls');
  expect(cause).toMatchObject({ code: '42P01' });
});

it('blames a row only for its data', () => {
  expect(isRowError({ code: '22003' })).toBe(true);
  for (const other of [{ code: '57P01' }, { code: '40001' }, new Error('x'), null])
    expect(isRowError(other)).toBe(false);
});
