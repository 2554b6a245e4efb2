import { ApiProperty } from '@nestjs/swagger';
import { IsArray, IsBooleanString, IsInt, IsObject, IsOptional, Max, Min } from 'class-validator';
import {
  IsJsonObject,
  IsText,
  IsTextList,
  MAX_INT,
  MaxItems,
  rule,
} from '../../../platform/http/dto.js';

export type TypedObjectKind = 'ops' | 'datasets' | 'scorers' | 'evaluations' | 'models';

const MAX_NAME = 128;
const MAX_DESCRIPTION = 10_000;
/** Characters of source code. */
const MAX_SOURCE = 65_536;
const MAX_REF = 2048;
const MAX_SCORERS = 1000;
const MAX_TRIALS = 1000;
/** Rows of a dataset in one request. `/table/create` accepts more. */
const MAX_ROWS = 100_000;
const MAX_DELETED = 100;

/** Accepts one text or several: a query string does not distinguish one text from a list of one. */
export const IsTexts = (maxItems: number, max: number) =>
  rule(
    'isTexts',
    `must be at most ${maxItems} strings of at most ${max} characters`,
    (value) =>
      [value].flat().length <= maxItems &&
      [value].flat().every((text) => typeof text === 'string' && text.length <= max),
  );

export class OpCreateDto {
  /** `Op` when absent. */
  @IsOptional() @IsText(MAX_NAME) name?: string | null;
  @IsOptional() @IsText(MAX_SOURCE) source_code?: string | null;
}

export class DatasetCreateDto {
  /** `Dataset` when absent. */
  @IsOptional() @IsText(MAX_NAME) name?: string | null;
  @IsOptional() @IsText(MAX_DESCRIPTION) description?: string | null;
  /** JSON objects. Stored as sent. */
  @IsArray()
  @MaxItems(MAX_ROWS)
  @IsObject({ each: true, message: 'must be a JSON object' })
  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: true } })
  rows!: object[];
}

export class ScorerCreateDto {
  @IsText(MAX_NAME, { min: 1 }) name!: string;
  @IsText(MAX_SOURCE) op_source_code!: string;
  @IsOptional() @IsText(MAX_DESCRIPTION) description?: string | null;
}

export class EvaluationCreateDto {
  @IsText(MAX_NAME, { min: 1 }) name!: string;
  /** A ref of a dataset. */
  @IsText(MAX_REF, { min: 1 }) dataset!: string;
  /** Refs of scorers. */
  @IsOptional() @IsTextList(MAX_SCORERS, MAX_REF) scorers?: string[] | null;
  /** 1 when absent. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_TRIALS) trials?: number | null;
  @IsOptional() @IsText(MAX_DESCRIPTION) description?: string | null;
  @IsOptional() @IsText(MAX_NAME) evaluation_name?: string | null;
  /** Further members of the evaluation object. */
  @IsOptional() @IsJsonObject() eval_attributes?: object | null;
}

export class TypedModelCreateDto {
  @IsText(MAX_NAME, { min: 1 }) name!: string;
  @IsText(MAX_SOURCE) source_code!: string;
  @IsOptional() @IsText(MAX_DESCRIPTION) description?: string | null;
  /** Further members of the model object. */
  @IsOptional() @IsJsonObject() attributes?: object | null;
}

export class TypedObjectCreatedDto {
  digest!: string;
  object_id!: string;
  version_index!: number;
}

export class ScorerCreatedDto extends TypedObjectCreatedDto {
  /** The ref of the scorer. */
  scorer!: string;
}

export class EvaluationCreatedDto extends TypedObjectCreatedDto {
  evaluation_ref!: string;
}

export class ModelCreatedDto extends TypedObjectCreatedDto {
  model_ref!: string;
}

/**
 * Page of a list. It does not use `PageDto`: query strings carry numbers as texts, and `number | null` hides the type
 * from conversion.
 */
export class TypedObjectsQueryDto {
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) limit?: number;
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) offset?: number;
}

export class OpsQueryDto extends TypedObjectsQueryDto {
  /** `false` leaves out the source code of ops. */
  @IsOptional() @IsBooleanString() eager?: string | null;
}

export class TypedObjectsDeleteDto {
  /** Digests of versions; all when absent. */
  @IsOptional()
  @IsTexts(MAX_DELETED, 256)
  @ApiProperty({ type: 'string', isArray: true, required: false })
  digests?: string | string[] | null;
}

export class DeletedDto {
  @ApiProperty({ type: 'integer', maximum: MAX_INT }) num_deleted!: number;
}

/** Members that answers of all kinds share. */
export class TypedObjectDto {
  object_id!: string;
  digest!: string;
  version_index!: number;
  @ApiProperty({ type: 'string', format: 'date-time' }) created_at!: string;
}

export class OpDto extends TypedObjectDto {
  code!: string | null;
}

export class DatasetDto extends TypedObjectDto {
  name!: string | null;
  description!: string | null;
  /** A ref of a table. */
  rows!: string | null;
}

export class ScorerDto extends TypedObjectDto {
  name!: string | null;
  description!: string | null;
  score_op!: string | null;
}

export class EvaluationDto extends TypedObjectDto {
  name!: string | null;
  description!: string | null;
  dataset!: string | null;
  scorers!: string[];
  trials!: number;
  evaluation_name!: string | null;
  evaluate_op!: string | null;
  predict_and_score_op!: string | null;
  summarize_op!: string | null;
}

export class TypedModelDto extends TypedObjectDto {
  name!: string | null;
  description!: string | null;
  source_code!: string | null;
  /** Free-form: all further members of the model. */
  @IsJsonObject() attributes!: object;
}
