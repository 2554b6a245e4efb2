import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsBoolean, IsInt, IsOptional, Max, Min, ValidateNested } from 'class-validator';
import { IsJsonObject, IsProjectId, IsTextList, MAX_INT } from '../../../platform/http/dto.js';
import { CallsFilterDto } from '../calls.dto.js';

/** Maximum number of calls for one answer, even with a higher `limit`: all of them are held in memory. */
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
      description: `More calls than this are refused with 413. ${USUAL_CALLS} when absent, at most ${MAX_USAGE_CALLS}.`,
    }),
  );

/** Calls whose usage is returned. Each includes the usage of its descendants. */
export class CallsUsageDto {
  @IsProjectId() project_id!: string;
  @IsTextList(1000, 256) call_ids!: string[];
  /** Adds the costs of the tokens. */
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
  @IsCallLimit() limit?: number | null;
}

/** Selects calls, such as those of a trace. Each includes the usage of its descendants among these calls. */
export class TraceUsageDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @ValidateNested() @Type(() => CallsFilterDto) filter?: CallsFilterDto | null;
  /** An expression tree: docs/query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Adds the costs of the tokens. */
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
  @IsCallLimit() limit?: number | null;
}

/**
 * Usage of a model by a call and its descendants. With `include_costs` it has costs, which are null if one of them is
 * unknown.
 */
export class ModelUsageDto {
  requests!: number;
  prompt_tokens!: number;
  completion_tokens!: number;
  cache_read_input_tokens!: number;
  cache_creation_input_tokens!: number;
  /** Sum of the tokens of all kinds. */
  total_tokens!: number;
  prompt_tokens_total_cost?: number | null;
  completion_tokens_total_cost?: number | null;
  cache_read_input_tokens_total_cost?: number | null;
  cache_creation_input_tokens_total_cost?: number | null;
}

@ApiExtraModels(ModelUsageDto)
export class UsageAnswerDto {
  /** Usage keyed by call id, then by model. */
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
  /** Ids of those calls that have not ended. Their usage may still grow. */
  unfinished_call_ids!: string[];
}
