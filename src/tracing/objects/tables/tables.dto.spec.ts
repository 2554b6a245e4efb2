import { validate } from '../../../platform/http/validation.js';
import { MAX_ROWS, TableCreateDto, TableFromDigestsDto, TableUpdateDto } from './tables.dto.js';

const tooMany = <T>(item: T): T[] => Array(MAX_ROWS + 1).fill(item);

it.each([
  ['rows', TableCreateDto, { table: { project_id: 'acme/demo', rows: tooMany({}) } }],
  [
    'row_digests',
    TableFromDigestsDto,
    { project_id: 'acme/demo', row_digests: tooMany('x'.repeat(43)) },
  ],
  [
    'updates',
    TableUpdateDto,
    { project_id: 'acme/demo', base_digest: 'x', updates: tooMany({ append: { row: {} } }) },
  ],
])('a body with too many %s is refused, and the limit is named', (name, dto, body) => {
  expect(() => validate(dto, body)).toThrow(
    expect.objectContaining({
      code: 'too_large',
      message: `${name} holds ${MAX_ROWS + 1} items, over the limit of ${MAX_ROWS}`,
    }),
  );
});
