import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { ArrayNotEmpty, IsNumber, IsOptional, Max, Min } from 'class-validator';
import {
  IsDateTime,
  IsIdList,
  IsJsonObject,
  IsProjectId,
  IsText,
  IsTextList,
  PageDto,
  SortBy,
} from '../../platform/http/dto.js';
import type { Sort } from '../../platform/query/columns.js';

/** A higher price for one token is a mistake in the unit. */
const MAX_PRICE = 1_000_000;
const MAX_EXPLAINED = 100;

/** Prices are exact decimals: the digits are stored, added and returned as they were sent. */
export class CostDto {
  @IsNumber() @Min(0) @Max(MAX_PRICE) prompt_token_cost!: number;
  @IsNumber() @Min(0) @Max(MAX_PRICE) completion_token_cost!: number;
  /** When absent, these tokens cost the same as prompt tokens. */
  @IsOptional() @IsNumber() @Min(0) @Max(MAX_PRICE) cache_read_input_token_cost?: number | null;
  /** When absent, these tokens cost the same as prompt tokens. */
  @IsOptional() @IsNumber() @Min(0) @Max(MAX_PRICE) cache_creation_input_token_cost?: number | null;
  /** `USD` when absent. */
  @IsOptional() @IsText(64, { min: 1 }) prompt_token_cost_unit?: string | null;
  /** `USD` when absent. */
  @IsOptional() @IsText(64, { min: 1 }) completion_token_cost_unit?: string | null;
  /** The record prices calls that start at this time or later. Now when absent. */
  @IsOptional() @IsDateTime() effective_date?: string | null;
  /** `default` when absent. */
  @IsOptional() @IsText(256, { min: 1 }) provider_id?: string | null;
}

@ApiExtraModels(CostDto)
export class CostsCreateDto {
  @IsProjectId() project_id!: string;
  /** A price record for each model, keyed by its name as calls write it in `summary.usage`. At most 1000. */
  @ApiProperty({ type: 'object', additionalProperties: { $ref: getSchemaPath(CostDto) } })
  @IsJsonObject()
  costs!: Record<string, CostDto>;
}

export class CostsCreatedDto {
  /** The id of each record and the name of its model, in the order of the request. */
  @ApiProperty({
    type: 'array',
    items: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 },
  })
  ids!: [string, string][];
}

export class CostsQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  /** Fields to return. All when absent. */
  @IsOptional()
  @IsTextList(1000, 1000)
  fields?: string[] | null;
  /** An expression tree: docs/query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Sort order. The default is `llm_id`, then the latest `effective_date` first. */
  @SortBy() sort_by?: Sort[] | null;
}

/** A stored record. With `fields`, it has only those. */
export class CostRecordDto {
  id?: string;
  llm_id?: string;
  prompt_token_cost?: number;
  completion_token_cost?: number;
  prompt_token_cost_unit?: string;
  completion_token_cost_unit?: string;
  @ApiPropertyOptional({ type: 'string', format: 'date-time' })
  effective_date?: string;
  provider_id?: string;
  cache_read_input_token_cost?: number | null;
  cache_creation_input_token_cost?: number | null;
}

export class CostsFoundDto {
  results!: CostRecordDto[];
}

export class CostsPurgeDto {
  @IsProjectId() project_id!: string;
  /** An expression tree: docs/query-language.md. Matching records are deleted. */
  @IsJsonObject() query!: object;
}

export class CostExplainDto {
  @IsProjectId() project_id!: string;
  @ArrayNotEmpty()
  @IsIdList(MAX_EXPLAINED)
  call_ids!: string[];
}

/** The record that was used. Null when no record applied: the cost of the tokens is unknown then, not 0. */
export class PriceUsedDto {
  id!: string | null;
  pricing_level!: 'project' | 'builtin' | 'unpriced';
  /** The time from which the record is in force; null when a built-in price has none. */
  effective_date!: string | null;
  provider_id!: string | null;
}

/** The cost of a model in a call. Null means unknown: a price, a total, a number of requests. */
export class CallCostDto extends PriceUsedDto {
  prompt_tokens!: number;
  completion_tokens!: number;
  cache_read_input_tokens!: number;
  cache_creation_input_tokens!: number;
  requests!: number | null;
  /** The price of one token. */
  prompt_token_cost!: number | null;
  completion_token_cost!: number | null;
  cache_read_input_token_cost!: number | null;
  cache_creation_input_token_cost!: number | null;
  prompt_token_cost_unit!: string | null;
  completion_token_cost_unit!: string | null;
  /** Totals include tokens with a price of their own, such as audio. `/cost/explain` lists them apart. */
  prompt_tokens_total_cost!: number | null;
  completion_tokens_total_cost!: number | null;
  cache_read_input_tokens_total_cost!: number | null;
  cache_creation_input_tokens_total_cost!: number | null;
  /** Null when a part is unknown or the units differ. */
  total_cost!: number | null;
}

/** Tokens of one kind. Tokens of that kind with a price of their own have a term of their own. Null means unknown. */
export class CostTermDto {
  kind!:
    | 'prompt_tokens'
    | 'completion_tokens'
    | 'cache_read_input_tokens'
    | 'cache_creation_input_tokens'
    | 'audio_input_tokens'
    | 'image_input_tokens'
    | 'video_input_tokens'
    | 'audio_output_tokens'
    | 'image_output_tokens'
    | 'video_output_tokens'
    | 'reasoning_tokens'
    | 'citation_tokens'
    | 'cache_read_audio_tokens'
    | 'cache_read_image_tokens'
    | 'cache_creation_1h_input_tokens';
  tokens!: number;
  unit_price!: number | null;
  unit!: string | null;
  total!: number | null;
  /** The term in words. */
  text!: string;
}

export class ModelExplainedDto {
  llm_id!: string;
  terms!: CostTermDto[];
  total_cost!: number | null;
  unit!: string | null;
  record!: PriceUsedDto | null;
  pricing_level!: 'project' | 'builtin' | 'unpriced';
  /** The reason why this record was used. */
  why!: string;
}

export class CallExplainedDto {
  id!: string;
  op_name!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) started_at!: string;
  models!: ModelExplainedDto[];
}

export class CostsExplainedDto {
  /** In the order of the request. */
  calls!: CallExplainedDto[];
  /** Ids of calls that do not exist. */
  not_found!: string[];
}
