import { ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsUUID,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { IsJsonObject, IsProjectId, IsText, IsTextList, MAX_INT } from '../../platform/http/dto.js';

/** Largest number of rows in an answer, the worst first. */
export const MAX_ROWS_SHOWN = 1000;
const MAX_PATH = 1000;
const MAX_PATHS = 16;

/**
 * The feedback that scores a call, and the path of the number in its payload. The latest feedback of the type counts.
 */
export class GateScoreDto {
  @IsText(255, { min: 1 }) feedback!: string;
  /** Path of a number, or of a boolean, which counts as 1 or 0. */
  @IsText(MAX_PATH, { min: 1 }) path!: string;
}

/** The conditions that a checkpoint must meet to be promoted. */
export class GateDto {
  /** Filter on the calls to compare, as in `/calls/query`. */
  @IsOptional() @IsJsonObject() filter?: object | null;
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Fields that pair calls: calls with the same content in these fields belong to one row. */
  @IsOptional()
  @ArrayNotEmpty()
  @IsTextList(MAX_PATHS, MAX_PATH, { min: 1 })
  pair_by?: string[] | null;
  @ValidateNested() @Type(() => GateScoreDto) score!: GateScoreDto;
  /** Smallest number of paired rows. With fewer rows the gate is not passed. Default 20. */
  @IsOptional() @IsInt() @Min(2) @Max(10_000) min_rows?: number | null;
  /** Confidence of the interval. The p-value must be at most 1 minus this value. Default 0.95. */
  @IsOptional() @IsNumber() @Min(0.5) @Max(0.999) confidence?: number | null;
  /** The mean must be higher by more than this value. A negative value allows a lower mean. Default 0. */
  @IsOptional() @IsNumber() @Min(-1e12) @Max(1e12) min_difference?: number | null;
}

export class GateStatisticsDto {
  mean_candidate!: number;
  mean_against!: number;
  /** Mean of the differences of the rows. */
  difference!: number;
  confidence!: number;
  /** Interval of the mean difference. */
  @ApiProperty({ type: 'number', isArray: true, minItems: 2, maxItems: 2 })
  interval!: [number, number];
  interval_source!: string;
  /** P-value of the hypothesis that the difference is `min_difference`. */
  p_value!: number;
  min_difference!: number;
  test!: string;
  /** The publication that describes the test. */
  source!: string;
  rows_better!: number;
  rows_worse!: number;
  rows_equal!: number;
}

export class GateRowDto {
  /** Content of the fields of `pair_by`. A long text is cut, and the SHA-256 of its content is appended. */
  key!: string;
  /** Means of the scores of the calls of each step. */
  candidate!: number;
  against!: number;
  difference!: number;
  n_candidate!: number;
  n_against!: number;
}

export class GateResultDto {
  passed!: boolean;
  reason!: string;
  step!: number;
  against_step!: number;
  rows_paired!: number;
  rows_only_candidate!: number;
  rows_only_against!: number;
  /** Rows with calls of both steps, but without a score on one side. */
  rows_unscored!: number;
  /** Calls of both steps in which no field of `pair_by` has a value. */
  calls_without_key!: number;
  /** Null when no rows are paired. */
  @ApiProperty({
    type: GateStatisticsDto,
    allOf: [{ $ref: getSchemaPath(GateStatisticsDto) }],
    nullable: true,
  })
  statistics!: GateStatisticsDto | null;
  /** Rows, the worst first, at most 1000. */
  rows!: GateRowDto[];
}

export class GateRequestDto {
  @IsProjectId() project_id!: string;
  @IsUUID() model_id!: string;
  @IsInt() @Min(0) @Max(MAX_INT) step!: number;
  /** Step to compare with. By default the step of the alias `current`, else 0. */
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) against_step?: number | null;
  @ValidateNested() @Type(() => GateDto) gate!: GateDto;
}

/** A request with exactly one of `by_hand` and `gate`. */
export class PromoteDto {
  @IsProjectId() project_id!: string;
  @IsUUID() model_id!: string;
  @IsInt() @Min(0) @Max(MAX_INT) step!: number;
  /** Promotes without a gate. */
  @IsOptional() @IsIn([true]) @ApiProperty({ type: 'boolean', enum: [true] }) by_hand?: true | null;
  @IsOptional() @ValidateNested() @Type(() => GateDto) gate?: GateDto | null;
}

export class PromotedDto {
  model_id!: string;
  alias!: 'current';
  step!: number;
  /** Step of the alias before; null when the alias did not exist. When it equals `step`, nothing was moved. */
  previous_step!: number | null;
  @ApiProperty({
    type: GateResultDto,
    allOf: [{ $ref: getSchemaPath(GateResultDto) }],
    nullable: true,
  })
  gate!: GateResultDto | null;
}

export class ModelAliasesQueryDto {
  @IsProjectId() project_id!: string;
  @IsUUID() model_id!: string;
}

export class ModelAliasDto {
  alias!: string;
  step!: number;
  @ApiProperty({ type: 'string', format: 'date-time' }) moved_at!: string;
  moved_by!: string;
  by_hand!: boolean;
}

/** The part of a gate's result that the history stores. */
export class PassedGateDto {
  passed!: boolean;
  against_step!: number;
  rows_paired!: number;
  statistics!: GateStatisticsDto;
}

export class AliasMoveDto {
  alias!: string;
  /** Null when the alias was retired. */
  step!: number | null;
  previous_step!: number | null;
  @ApiProperty({ type: 'string', format: 'date-time' }) moved_at!: string;
  moved_by!: string;
  by_hand!: boolean;
  @ApiProperty({
    type: PassedGateDto,
    allOf: [{ $ref: getSchemaPath(PassedGateDto) }],
    nullable: true,
  })
  gate!: PassedGateDto | null;
  /** Reason why the alias was retired. */
  reason!: string | null;
}

export class ModelAliasesAnswerDto {
  aliases!: ModelAliasDto[];
  /** Moves, the newest first, at most 200. */
  history!: AliasMoveDto[];
}
