import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
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

/** What a call and its descendants used of a model. Costs are there with `include_costs`, null where one is unknown. */
export class ModelUsageDto {
  requests!: number;
  prompt_tokens!: number;
  completion_tokens!: number;
  cache_read_input_tokens!: number;
  cache_creation_input_tokens!: number;
  /** Of all kinds. */
  total_tokens!: number;
  prompt_tokens_total_cost?: number | null;
  completion_tokens_total_cost?: number | null;
  cache_read_input_tokens_total_cost?: number | null;
  cache_creation_input_tokens_total_cost?: number | null;
}

@ApiExtraModels(ModelUsageDto)
export class UsageAnswerDto {
  /** By call, by model. */
  @ApiProperty({
    type: 'object',
    additionalProperties: {
      type: 'object',
      additionalProperties: { $ref: getSchemaPath(ModelUsageDto) },
    },
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
