import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  Allow,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Max,
  Min,
  ValidateBy,
  ValidateNested,
  type ValidationArguments,
  ArrayMaxSize,
} from 'class-validator';
import { DATE_TIME } from '../query/literal-patterns.js';
import { ApiError } from '../errors.js';
import { PROJECT_RULE } from './validation.js';

/** Largest value of `limit`, `offset` and other counts: PostgreSQL's `int4`. */
export const MAX_INT = 2_147_483_647;

const PART = '[A-Za-z0-9_.-]{1,128}';

/**
 * Pattern of an entity or project name in `<entity>/<project>`. `.` and `..` are excluded, because no URL can name
 * them.
 */
export const PROJECT_PART = `(?!\\.{1,2}(?:/|$))${PART}`;

const PROJECT_ID = new RegExp(`^${PROJECT_PART}/${PROJECT_PART}$`);

/** Declares a rule. A message that depends on the request is a function. `each` checks every element of an array. */
export function rule(
  name: string,
  message: string | (() => string),
  isValid: (value: unknown, at?: ValidationArguments) => boolean,
  each = false,
) {
  return ValidateBy(
    {
      name,
      validator: {
        validate: isValid,
        defaultMessage: typeof message === 'string' ? () => message : message,
      },
    },
    { each },
  );
}

export const PROJECT_PART_RULE =
  'be 1 to 128 letters, digits, "_", "." or "-", and not "." or ".."';

export const PROJECT_ID_RULE = `must have the shape <entity>/<project>; each must ${PROJECT_PART_RULE}`;

const isProject = (pattern: RegExp) =>
  applyDecorators(
    rule(
      PROJECT_RULE,
      PROJECT_ID_RULE,
      (value) => typeof value === 'string' && pattern.test(value),
    ),
    ApiProperty({ type: 'string', example: 'acme/demo', pattern: pattern.source }),
  );

/**
 * Requires `<entity>/<project>`. The field names the project of the request: the key's scopes are checked against it.
 */
export const IsProjectId = () => isProject(PROJECT_ID);

/**
 * Requires the name of a stored project, for requests that erase it. Earlier versions allowed `.` and `..` in names.
 */
export const IsStoredProjectId = () => isProject(new RegExp(`^${PART}/${PART}$`));

export const isProjectId = (value: unknown): value is string =>
  typeof value === 'string' && PROJECT_ID.test(value);

/** Requires text of at most `max` characters that PostgreSQL can store: no `\u0000`, no half of a surrogate pair. */
export const IsText = (max: number, { each = false, min = 0 } = {}) =>
  applyDecorators(
    rule(
      'isText',
      min > 0
        ? `must be a string of ${min} to ${max} characters without \\u0000`
        : `must be a string of at most ${max} characters without \\u0000`,
      (value) => isStorable(value) && value.length >= min && fits(value, max),
      each,
    ),
    ApiProperty({
      type: 'string',
      isArray: each,
      ...(each ? {} : { maxLength: max, ...(min > 0 && { minLength: min }) }),
    }),
  );

/** Requires text of any length that PostgreSQL can store, for fields that are shortened when they are stored. */
export const IsLongText = () =>
  applyDecorators(
    rule('isLongText', 'must be a string without \\u0000', isStorable),
    ApiProperty({ type: 'string' }),
  );

/** Counts characters as code points. Most texts are decided by their length in UTF-16 units. */
export const fits = (text: string, max: number) =>
  text.length <= max || (text.length <= 2 * max && Array.from(text).length <= max);

/** `\p{Cs}` in a Unicode pattern matches lone surrogates only. */
export const isStorable = (value: unknown): value is string =>
  typeof value === 'string' && !/[\0\p{Cs}]/u.test(value);

const ID_LENGTH = 256;

/** Requires an id chosen by the client: non-empty text of at most 256 characters, without control characters. */
export const IsId = ({ each = false } = {}) =>
  applyDecorators(
    rule(
      'isId',
      `must be a non-empty string of at most ${ID_LENGTH} characters without control characters`,
      isId,
      each,
    ),
    ApiProperty({
      type: 'string',
      isArray: each,
      ...(each ? {} : { minLength: 1, maxLength: ID_LENGTH }),
    }),
  );

export const IsTextList = (maxItems: number, max: number, { min = 0 } = {}) =>
  applyDecorators(IsList(maxItems), IsText(max, { each: true, min }));

/** Requires the id of the parent call, or an empty text for none. */
export const IsParentId = () =>
  applyDecorators(
    rule(
      'isParentId',
      `must be a string of at most ${ID_LENGTH} characters without control characters`,
      (value) => value === '' || isId(value),
    ),
    ApiProperty({ type: 'string', maxLength: ID_LENGTH }),
  );

export const IsIdList = (maxItems: number) =>
  applyDecorators(IsList(maxItems), IsId({ each: true }));

const IsList = (maxItems: number) =>
  applyDecorators(
    IsArray(),
    ArrayMaxSize(maxItems),
    ApiProperty({ type: 'string', isArray: true, maxItems }),
  );

/**
 * Most bytes of a `thread_id`. With the longest project name and call id it fits into one entry of a PostgreSQL index,
 * which has at most 2,704 bytes.
 */
export const MAX_THREAD_BYTES = 1280;

export const isThreadId = (value: unknown): value is string =>
  isStorable(value) && Buffer.byteLength(value) <= MAX_THREAD_BYTES;

/** Requires a text that users choose, such as a subject or an address, or an empty text: `thread_id`, `turn_id`. */
export const IsThreadId = () =>
  applyDecorators(
    IsOptional(),
    rule(
      'isThreadId',
      `must be a string of at most ${MAX_THREAD_BYTES} bytes without \\u0000`,
      isThreadId,
    ),
    ApiPropertyOptional({ type: 'string', maxLength: MAX_THREAD_BYTES }),
  );

export const isId = (value: unknown): value is string =>
  typeof value === 'string' && fits(value, ID_LENGTH) && /^[^\p{Cc}\p{Cs}]+$/u.test(value);

/**
 * Requires an ISO 8601 date-time of the years 1 to 9999, in the form that PostgreSQL reads. Without an offset it is
 * UTC.
 */
export const IsDateTime = () =>
  applyDecorators(
    rule(
      'isDateTime',
      'must be an ISO 8601 date-time such as 2026-01-31T12:00:00.123456Z',
      isDateTime,
    ),
    ApiProperty({ type: 'string', format: 'date-time' }),
  );

/** Pattern of the query language. T and Z may be lower case too. */
const PATTERN = new RegExp(DATE_TIME, 'i');

export function isDateTime(value: unknown): value is string {
  if (typeof value !== 'string' || !PATTERN.test(value)) return false;
  const year = Number(value.slice(0, 4));
  return (year > 1 && year < 9999) || isYearOfFour(parseDate(value).getUTCFullYear());
}

/** Checks the year in UTC, because an offset may move an instant out of the four-digit years. */
const isYearOfFour = (year: number) => year >= 1 && year <= 9999;

/** Returns the instant of a text that `IsDateTime` accepts, in milliseconds. PostgreSQL reads the finer digits. */
export function parseDate(text: string): Date {
  const [, day, time = 'T00:00', offset = 'Z'] =
    /^(.{10})([Tt ].*?)?([Zz]|[+-]\d\d:?(?:\d\d)?)?$/.exec(text) ?? [];
  const [, sign, hours, minutes = '00'] = /^([+-])(\d\d):?(\d\d)?$/.exec(offset) ?? [];
  return new Date(`${day}T${time.slice(1)}${sign ? `${sign}${hours}:${minutes}` : 'Z'}`);
}

/** Returns the first whole millisecond that is not before the instant of such a text. */
export const ceilToMillisecond = (time: string) =>
  new Date(+parseDate(time) + (/\.\d{3}0*[1-9]/.test(time) ? 1 : 0));

/**
 * Allows at most `max` items. Place it before rules that check each item. A longer list is refused as too large, not as
 * malformed.
 * @throws ApiError `too_large`
 */
export const MaxItems = (max: number) =>
  ValidateBy({
    name: 'maxItems',
    constraints: [max],
    validator: {
      validate(list, { property } = {} as ValidationArguments) {
        if (Array.isArray(list) && list.length > max)
          throw new ApiError(
            'too_large',
            `${property} holds ${list.length} items, over the limit of ${max}`,
          );
        return true;
      },
    },
  });

/** Accepts any JSON value: no rule, on purpose. */
export const AnyJson = Allow;

/** OpenAPI schema of any JSON value. The field that uses it adds the description. */
export const ANY_JSON = {
  nullable: true,
  oneOf: [
    { type: 'object', additionalProperties: true },
    { type: 'array', items: {} },
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
  ],
};

/** Requires a free-form JSON object, which is kept as the text that was sent and never copied. */
export const IsJsonObject = () =>
  applyDecorators(
    rule(
      'isJsonObject',
      'must be a JSON object',
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    ),
    ApiProperty({ type: 'object', additionalProperties: true }),
  );

const MAX_SORTS = 32;

/** Declares `sort_by` for the fields that one operation allows. Without `fields`, the operation's query checks them. */
export function SortBy(fields?: readonly string[]) {
  class SortDto {
    @(fields ? IsIn(fields) : IsString()) field!: string;
    @IsIn(['asc', 'desc']) direction!: 'asc' | 'desc';
  }
  return applyDecorators(
    IsOptional(),
    IsArray(),
    ArrayMaxSize(MAX_SORTS),
    ValidateNested({ each: true }),
    Type(() => SortDto),
    ApiPropertyOptional({
      nullable: true,
      type: 'array',
      items: {
        type: 'object',
        required: ['field', 'direction'],
        properties: {
          field: fields ? { type: 'string', enum: [...fields] } : { type: 'string' },
          direction: { type: 'string', enum: ['asc', 'desc'] },
        },
      },
    }),
  );
}

/** Requires an integer from 0; absent and null are allowed. The OpenAPI plugin does not read this file. */
export const IsCount = () =>
  applyDecorators(
    IsOptional(),
    IsInt(),
    Min(0),
    Max(MAX_INT),
    ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: MAX_INT, nullable: true }),
  );

/** An order has at most two tie-breakers. */
const MAX_POSITION = MAX_SORTS + 2;

/**
 * Declares the position of the last row that the client has: its values of the sorted fields, then of the tie-breakers.
 * `isAfter` checks them and builds the condition.
 */
export const IsAfter = () =>
  applyDecorators(
    IsOptional(),
    IsArray(),
    ArrayMaxSize(MAX_POSITION),
    rule(
      'isWithoutOffset',
      'must not be given together with offset',
      (_, at) => !(at!.object as PageDto).offset,
    ),
    rule(
      'isScalar',
      'must be a string, a finite number, a boolean or null',
      (value) =>
        value === null ||
        typeof value === 'string' ||
        typeof value === 'boolean' ||
        Number.isFinite(value),
      true,
    ),
    ApiPropertyOptional({
      nullable: true,
      type: 'array',
      maxItems: MAX_POSITION,
      items: {
        nullable: true,
        oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }],
      },
    }),
  );

/** Declares `limit` and `offset`: integers from 0. Absent and null mean none. */
export class PageDto {
  @IsCount() limit?: number | null;
  @IsCount() offset?: number | null;
}
