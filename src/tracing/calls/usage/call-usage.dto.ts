import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsBoolean, IsInt, IsOptional, Max, Min, ValidateNested } from 'class-validator';
import { IsJsonObject, IsProjectId, IsTextList, MAX_INT } from '../../../platform/http/dto.js';
import { CallsFilterDto } from '../calls.dto.js';

/** Calls whose usage is read for one answer, whatever `limit` says: they are held together. */
export const MAX_USAGE_CALLS = 100_000;
export const USUAL_CALLS = 10_000;

const IsCallLimit = () =>
  applyDecorators(
    IsOptional(),
    IsInt(),
    Min(0),
    Max(MAX_INT),
    ApiPropertyOptional({
      type: 'integer',
      nullable: true,
      description: `When there are more calls, 413: a sum of some would look like one of all. ${USUAL_CALLS} when absent, at most ${MAX_USAGE_CALLS} count.`,
    }),
  );

/** Calls whose usage is wanted, each with that of its descendants. */
export class CallsUsageDto {
  @IsProjectId() project_id!: string;
  @IsTextList(1000, 256) call_ids!: string[];
  /** Adds what the tokens cost. */
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
  @IsCallLimit() limit?: number | null;
}

/** Calls, such as those of a trace, among which each gets the usage of its descendants. */
export class TraceUsageDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/adr/0010-query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Adds what the tokens cost. */
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
  @IsCallLimit() limit?: number | null;
}

export class UsageAnswerDto {
  /** By call, by model: tokens of each kind, their sum, requests, and with `include_costs` totals, null where one is unknown. */
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'object', additionalProperties: { type: 'object' } },
    example: {
      'call id': {
        'gpt-5': {
          requests: 1,
          prompt_tokens: 10,
          completion_tokens: 5,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
          total_tokens: 15,
        },
      },
    },
  })
  call_usage!: object;
  /** Those of the calls read that have not ended: they may spend more. */
  unfinished_call_ids!: string[];
}
