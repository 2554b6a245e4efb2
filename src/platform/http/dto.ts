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

/** The entity, or the project, of `<entity>/<project>`. Not `.` or `..`: no URL can name these. */
export const PROJECT_PART = `(?!\\.{1,2}(?:/|$))${PART}`;

const PROJECT_ID = new RegExp(`^${PROJECT_PART}/${PROJECT_PART}$`);

/** One rule with a fixed message; `perKeyRule` checks every element of an array. */
export function rule(
  name: string,
  message: string,
  isValid: (value: unknown, at?: ValidationArguments) => boolean,
  each = false,
) {
  return ValidateBy(
    { name, validator: { validate: isValid, defaultMessage: () => message } },
    { each },
  );
}

/** What the names of an entity and a project must be. */
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

/** `<entity>/<project>`. The field names the project the request is about: the key's scopes are checked against it. */
export const IsProjectId = () => isProject(PROJECT_ID);

/** The same, for what erases a project: earlier versions let `.` and `..` be parts of its name. */
export const IsStoredProjectId = () => isProject(new RegExp(`^${PART}/${PART}$`));

export const isProjectId = (value: unknown): value is string =>
  typeof value === 'string' && PROJECT_ID.test(value);

/** Text of at most `max` characters that PostgreSQL can hold: no `\u0000`, no half of a surrogate pair. */
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

/** The same of any length, for what is cut where it is stored. */
export const IsLongText = () =>
  applyDecorators(
    rule('isLongText', 'must be a string without \\u0000', isStorable),
    ApiProperty({ type: 'string' }),
  );

/** Characters are code points; most texts are settled by their length in UTF-16 units. */
export const fits = (text: string, max: number) =>
  text.length <= max || (text.length <= 2 * max && Array.from(text).length <= max);

/** `\p{Cs}` in a Unicode pattern matches lone surrogates only. */
export const isStorable = (value: unknown): value is string =>
  typeof value === 'string' && !/[\0\p{Cs}]/u.test(value);

const ID_LENGTH = 256;

/** An id chosen by the client: any non-empty text up to 256 characters without control characters. */
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

/** At most `maxItems` texts, each of at most `max` characters. */
export const IsTextList = (maxItems: number, max: number, { min = 0 } = {}) =>
  applyDecorators(IsList(maxItems), IsText(max, { each: true, min }));

/** At most `maxItems` ids. */
/** The id of the call above; empty where there is none. */
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
 * Bytes of a `thread_id`: with the longest project and the longest id of a call it fits into one entry of an index of
 * PostgreSQL, 2,704 bytes.
 */
export const MAX_THREAD_BYTES = 1280;

/** A text that users choose, such as a subject or an address; empty for none: `thread_id`, `turn_id`. */
export const IsThreadId = () =>
  applyDecorators(
    IsOptional(),
    rule(
      'isThreadId',
      `must be a string of at most ${MAX_THREAD_BYTES} bytes without \\u0000`,
      (value) => isStorable(value) && Buffer.byteLength(value) <= MAX_THREAD_BYTES,
    ),
    ApiPropertyOptional({ type: 'string', maxLength: MAX_THREAD_BYTES }),
  );

export const isId = (value: unknown): value is string =>
  typeof value === 'string' && fits(value, ID_LENGTH) && /^[^\p{Cc}\p{Cs}]+$/u.test(value);

/** ISO 8601 date-time of the years 1 to 9999, with or without offset (none = UTC), as PostgreSQL reads it too. */
export const IsDateTime = () =>
  applyDecorators(
    rule(
      'isDateTime',
      'must be an ISO 8601 date-time such as 2026-01-31T12:00:00.123456Z',
      isDateTime,
    ),
    ApiProperty({ type: 'string', format: 'date-time' }),
  );

/** The grammar of the query language. T and Z may be small too. */
const PATTERN = new RegExp(DATE_TIME, 'i');

export function isDateTime(value: unknown): value is string {
  if (typeof value !== 'string' || !PATTERN.test(value)) return false;
  const year = Number(value.slice(0, 4));
  return (year > 1 && year < 9999) || isYearOfFour(parseDate(value).getUTCFullYear());
}

/** An offset may move an instant out of the four-digit years. */
const isYearOfFour = (year: number) => year >= 1 && year <= 9999;

/** The instant of a text that `IsDateTime` accepts. Milliseconds: finer ones are PostgreSQL's to read. */
export function parseDate(text: string): Date {
  const [, day, time = 'T00:00', offset = 'Z'] =
    /^(.{10})([Tt ].*?)?([Zz]|[+-]\d\d:?(?:\d\d)?)?$/.exec(text) ?? [];
  const [, sign, hours, minutes = '00'] = /^([+-])(\d\d):?(\d\d)?$/.exec(offset) ?? [];
  return new Date(`${day}T${time.slice(1)}${sign ? `${sign}${hours}:${minutes}` : 'Z'}`);
}

/**
 * At most this many items; place it before rules that check each item. A longer list is refused as too large, not as
 * malformed. @throws ApiError `too_large`
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

/** Any JSON value: no rule, on purpose. */
export const AnyJson = Allow;

/** The same as a schema, which the member that has it describes. */
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

/** Free-form JSON object: kept as the text it was sent as, never copied. */
export const IsJsonObject = () =>
  applyDecorators(
    rule(
      'isJsonObject',
      'must be a JSON object',
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    ),
    ApiProperty({ type: 'object', additionalProperties: true }),
  );

/** An optional field under a computed name (`[WIRE.runId]`): the OpenAPI plugin sees only names that are spelled out. */
export const IsOptionalWire = () =>
  applyDecorators(IsOptional(), ApiPropertyOptional({ nullable: true }));

const MAX_SORTS = 32;

/** `sort_by`, restricted to the fields one operation allows; without them, the field is judged by its query. */
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

/** A number from 0, absent or null. The OpenAPI plugin does not look into this file. */
export const IsCount = () =>
  applyDecorators(
    IsOptional(),
    IsInt(),
    Min(0),
    Max(MAX_INT),
    ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: MAX_INT, nullable: true }),
  );

/** The fields that break ties in an order: two at most. */
const MAX_POSITION = MAX_SORTS + 2;

/**
 * The position of the last row the caller has: its values of the sorted fields, then of the tie-breakers. `isAfter`
 * checks them and makes the condition.
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

/** `limit` and `offset`: whole numbers from 0, absent or null for none. */
export class PageDto {
  @IsCount() limit?: number | null;
  @IsCount() offset?: number | null;
}
