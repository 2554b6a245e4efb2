import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { isStorable, IsText, IsTextList, IsThreadId, rule } from '../../platform/http/dto.js';
import { isObject } from '../../platform/json/json-object.js';

/** Limits of one piece of feedback: tags or ratings, and characters of each name and reason. */
const MAX_ENTRIES = 100;
const MAX_KEY = 256;
const MAX_REASON = 1000;

/** Accepts a map keyed by tags or names of ratings. */
const IsMapOf = (of: 'number' | 'string', what: string, isValid: (value: unknown) => boolean) =>
  applyDecorators(
    IsOptional(),
    rule(
      'isMapOf',
      `must be an object of at most ${MAX_ENTRIES} members with names of 1 to ${MAX_KEY} characters, each ${what}`,
      (map) =>
        isObject(map) &&
        Object.keys(map).length <= MAX_ENTRIES &&
        Object.entries(map).every(
          ([name, value]) =>
            name !== '' && name.length <= MAX_KEY && isStorable(name) && isValid(value),
        ),
    ),
    ApiPropertyOptional({ type: 'object', additionalProperties: { type: of }, nullable: true }),
  );

const isShare = (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1;
const IsShares = () => IsMapOf('number', 'a number from 0 to 1', isShare);
const IsReasons = () =>
  IsMapOf(
    'string',
    `a string of at most ${MAX_REASON} characters without \\u0000`,
    (value) => isStorable(value) && value.length <= MAX_REASON,
  );

const STATUS_CODES = ['UNSET', 'OK', 'ERROR'] as const;

/** Scores by a scorer or a person, and the agent's span that they are about. */
export class ScorerColumnsDto {
  @IsOptional() @IsTextList(MAX_ENTRIES, MAX_KEY, { min: 1 }) scorer_tags?: string[] | null;
  /** Keyed by tag. */
  @IsReasons() scorer_tag_reasons?: Record<string, string> | null;
  /** From 0 to 1, keyed by tag. */
  @IsShares() scorer_tag_confidences?: Record<string, number> | null;
  /** From 0 to 1, keyed by name. */
  @IsShares() scorer_ratings?: Record<string, number> | null;
  /** Keyed by the name of the rating. */
  @IsReasons() scorer_rating_reasons?: Record<string, string> | null;
  /** From 0 to 1, keyed by the name of the rating. */
  @IsShares() scorer_rating_confidences?: Record<string, number> | null;
  @IsOptional() @IsText(256) span_agent_name?: string | null;
  @IsOptional() @IsText(256) span_agent_version?: string | null;
  @IsOptional()
  @IsIn(STATUS_CODES)
  @ApiPropertyOptional({ enum: STATUS_CODES, nullable: true })
  span_status_code?: (typeof STATUS_CODES)[number] | null;
  @IsThreadId() span_conversation_id?: string | null;
  @IsOptional() @IsText(256) span_trace_id?: string | null;
  @IsOptional() @IsText(256) scorer_trace_id?: string | null;
}
