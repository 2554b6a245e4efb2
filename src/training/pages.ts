import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, getSchemaPath } from '@nestjs/swagger';
import { ApiError } from '../platform/errors.js';
import { ApiJsonResponse } from '../platform/http/api-answers.js';

export interface ListItem {
  id: string;
  json: string;
}

/** Items of a page when the request has no `limit`. */
export const PAGE_SIZE = 20;

/**
 * Prints a cursor page as JSON text. When more items exist, `items` contains one more than the page, or `found` is
 * their number.
 */
export function pageJson(items: ListItem[], limit = PAGE_SIZE, found = items.length): string {
  const shown = items.slice(0, limit);
  const [first, last] = [shown.at(0)?.id ?? '', shown.at(-1)?.id ?? ''];
  return `{"object":"list","data":[${shown.map(({ json }) => json).join(',')}],"first_id":"${first}","last_id":"${last}","has_more":${found > shown.length}}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const isUuid = (value: unknown): value is string => typeof value === 'string' && UUID.test(value);

export const noSuch = (what: string) => new ApiError('not_found', `there is no such ${what}`);

/** @throws ApiError `not_found` when the id is not a UUID */
export function checkedId(value: unknown, what: string): string {
  if (!isUuid(value)) throw noSuch(what);
  return value;
}

/** Declares that a handler returns a page of these items as JSON text. */
export const ApiPage = (item: NewableFunction) =>
  applyDecorators(
    ApiExtraModels(item),
    ApiJsonResponse({
      schema: {
        type: 'object',
        required: ['object', 'data', 'first_id', 'last_id', 'has_more'],
        properties: {
          object: { type: 'string', enum: ['list'] },
          data: { type: 'array', items: { $ref: getSchemaPath(item) } },
          first_id: { type: 'string', description: 'Empty when there are no items.' },
          last_id: { type: 'string', description: 'The next page is asked for by `after`.' },
          has_more: { type: 'boolean' },
        },
      },
    }),
  );
