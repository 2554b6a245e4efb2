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

/** Rows that an answer shows, the worst first. */
export const MAX_ROWS_SHOWN = 1000;
const MAX_PATH = 1000;
const MAX_PATHS = 16;

/** The feedback that says how good a call is, and where its payload has the number. The latest of the type counts. */
export class GateScoreDto {
  @IsText(255, { min: 1 }) feedback!: string;
  /** A number, or a boolean, which is 1 or 0. */
  @IsText(MAX_PATH, { min: 1 }) path!: string;
}

/** What a checkpoint has to show before it is promoted. */
export class GateDto {
  /** Which calls count, as in `/calls/query`. */
  @IsOptional() @IsJsonObject() filter?: object | null;
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Calls in which these fields have the same content are of one row. */
  @IsOptional()
  @ArrayNotEmpty()
  @IsTextList(MAX_PATHS, MAX_PATH, { min: 1 })
  pair_by?: string[] | null;
  @ValidateNested() @Type(() => GateScoreDto) score!: GateScoreDto;
  /** Fewer paired rows say nothing. Default 20. */
  @IsOptional() @IsInt() @Min(2) @Max(10_000) min_rows?: number | null;
  /** Of the interval; the p-value has to be at most 1 less this. Default 0.95. */
  @IsOptional() @IsNumber() @Min(0.5) @Max(0.999) confidence?: number | null;
  /** By how much the mean has to be higher; negative where it may be lower by so much. Default 0. */
  @IsOptional() @IsNumber() @Min(-1e12) @Max(1e12) min_difference?: number | null;
}

export class GateStatisticsDto {
  mean_candidate!: number;
  mean_against!: number;
  /** Mean of the differences of the rows. */
  difference!: number;
  confidence!: number;
  /** The interval of the difference. */
  @ApiProperty({ type: 'number', isArray: true, minItems: 2, maxItems: 2 })
  interval!: [number, number];
  interval_source!: string;
  /** Of the hypothesis that the difference is `min_difference`. */
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
  /** What the fields of `pair_by` hold; of a long text the beginning and the SHA-256 of its content. */
  key!: string;
  /** Means of the scores of the calls. */
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
  /** Rows with calls of both, without a score on one side. */
  rows_unscored!: number;
  /** Calls of both in which no field of `pair_by` has a value. */
  calls_without_key!: number;
  /** Null where no rows are paired. */
  @ApiProperty({
    type: GateStatisticsDto,
    allOf: [{ $ref: getSchemaPath(GateStatisticsDto) }],
    nullable: true,
  })
  statistics!: GateStatisticsDto | null;
  /** The worst rows first, up to 1000. */
  rows!: GateRowDto[];
}

export class GateRequestDto {
  @IsProjectId() project_id!: string;
  @IsUUID() model_id!: string;
  @IsInt() @Min(0) @Max(MAX_INT) step!: number;
  /** By default that of the alias `current`, else 0. */
  @IsOptional() @IsInt() @Min(0) @Max(MAX_INT) against_step?: number | null;
  @ValidateNested() @Type(() => GateDto) gate!: GateDto;
}

/** Exactly one of `by_hand` and `gate`. */
export class PromoteDto {
  @IsProjectId() project_id!: string;
  @IsUUID() model_id!: string;
  @IsInt() @Min(0) @Max(MAX_INT) step!: number;
  /** Without a gate. */
  @IsOptional() @IsIn([true]) @ApiProperty({ type: 'boolean', enum: [true] }) by_hand?: true | null;
  @IsOptional() @ValidateNested() @Type(() => GateDto) gate?: GateDto | null;
}

export class PromotedDto {
  model_id!: string;
  alias!: 'current';
  step!: number;
  /** Null when there was no alias. The same as `step` when the alias stood there already: nothing was moved then. */
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

/** What is kept of a gate. */
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
  /** Why it was retired. */
  reason!: string | null;
}

export class ModelAliasesAnswerDto {
  aliases!: ModelAliasDto[];
  /** The newest moves first, up to 200. */
  history!: AliasMoveDto[];
}
