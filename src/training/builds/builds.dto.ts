import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsUUID,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import {
  IsJsonObject,
  IsProjectId,
  IsText,
  IsTextList,
  PageDto,
  SortBy,
} from '../../platform/http/dto.js';
import type { Sort } from '../../platform/query/columns.js';
import {
  BuildCountsDto,
  BuildFactsDto,
  HintDto,
  LintDto,
  PreviewFactsDto,
  RewardFactsDto,
} from './build-facts.dto.js';
import { FORMATS, type ExportFormat } from './exports/exports.js';
import { STATUSES as JOB_STATUSES } from '../jobs/training-job.entity.js';
import { refTo } from '../trajectory-rules.js';
import { LINT_CODES, type LintCode } from './recipe/recipe.dto.js';

const MAX_REF = 1024;
const MAX_LISTED = 1000;

const IsTexts = () => applyDecorators(IsOptional(), IsTextList(MAX_LISTED, MAX_REF));

/** A request with exactly one of `recipe` and `recipe_ref`. */
export class BuildPreviewDto {
  @IsProjectId() project_id!: string;
  /** A recipe that is not published yet. See docs/training.md. */
  @IsOptional() @IsJsonObject() recipe?: object | null;
  /** Ref of a published recipe in the same project. Its digest may be `latest`. */
  @IsOptional() @IsText(MAX_REF) recipe_ref?: string | null;
  /** `new` takes only units that no succeeded job of the recipe and the model has trained. */
  @IsOptional() @IsIn(['all', 'new']) mode?: 'all' | 'new' | null;
  /** Number of groups to show. */
  @IsOptional() @IsInt() @Min(0) @Max(20) samples?: number | null;
}

export class BuildCreateDto {
  @IsProjectId() project_id!: string;
  /** Ref of a published recipe in the same project. Its digest may be `latest`. */
  @IsText(MAX_REF, { min: 1 }) recipe_ref!: string;
  /**
   * `new` takes only units that no succeeded job has trained yet. Jobs count when their recipe has this name, and
   * their model is the one that `llm.policy` names.
   */
  @IsIn(['all', 'new']) mode!: 'all' | 'new';
  /** Lints of level error that the client accepts. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(LINT_CODES.length)
  @IsIn(LINT_CODES, { each: true })
  @ApiPropertyOptional({ type: 'string', isArray: true, enum: LINT_CODES, nullable: true })
  accept?: LintCode[] | null;
  /** The digest that a preview returned. A build with another digest is refused. */
  @IsOptional() @IsText(64) expected_digest?: string | null;
}

@ApiExtraModels(HintDto)
export class BuildPreviewedDto {
  as_of!: string;
  counts!: BuildCountsDto;
  rewards!: RewardFactsDto;
  facts!: PreviewFactsDto;
  lints!: LintDto[];
  /** Null when no setting of the recipe leaves out a unit. */
  @ApiProperty({ type: HintDto, allOf: [{ $ref: getSchemaPath(HintDto) }], nullable: true })
  hint!: HintDto | null;
  /** Groups as they would be trained. */
  @ApiProperty({ type: 'array', items: refTo('TrajectoryGroupDto') }) samples!: object[];
  /** SHA-256 of the groups, in hex. */
  digest!: string;
}

export class BuildCreatedDto {
  build_id!: string;
  as_of!: string;
  digest!: string;
  /** SHA-256 over the calls and the feedback that the build was made of. */
  manifest_digest!: string;
  counts!: BuildCountsDto;
  lints!: LintDto[];
}

export class BuildSubmitDto {
  @IsProjectId() project_id!: string;
  @IsUUID() build_id!: string;
  @IsUUID() model_id!: string;
}

export class BuildSubmittedDto {
  job_id!: string;
}

export class BuildExportDto {
  @IsProjectId() project_id!: string;
  @IsUUID() build_id!: string;
  @IsIn(FORMATS) @ApiProperty({ enum: FORMATS }) format!: ExportFormat;
  @IsOptional() @IsIn(['train', 'eval', 'all']) split?: 'train' | 'eval' | 'all' | null;
  /**
   * Replaces `reward.threshold` of the recipe. `openai-sft` and `trl-sft` leave out trajectories with a lower reward,
   * and `trl-kto` labels them false.
   */
  @IsOptional() @IsNumber() min_reward?: number | null;
  /** For `openai-dpo`, `trl-dpo` and `tinker-preference`: pairs whose rewards differ by less are left out. */
  @IsOptional() @IsNumber() @Min(0) min_margin?: number | null;
}

export class BuildsFilterDto {
  @IsTexts() build_ids?: string[] | null;
  @IsTexts() recipe_names?: string[] | null;
  @IsTexts() recipe_digests?: string[] | null;
  @IsTexts() digests?: string[] | null;
  @IsOptional() @IsBoolean() is_erased?: boolean | null;
}

export class BuildsQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @ValidateNested() @Type(() => BuildsFilterDto) filter?: BuildsFilterDto | null;
  @SortBy(['id', 'created_at', 'as_of', 'recipe_name', 'digest']) sort_by?: Sort[] | null;
}

/** A training job that was made from a build. */
export class BuildJobDto {
  job_id!: string;
  /** `model_id`, `status` and `step` are null when the model of the job was deleted. */
  model_id!: string | null;
  @ApiProperty({ enum: JOB_STATUSES, nullable: true }) status!: string | null;
  /** Step of the checkpoint that the job made. */
  step!: number | null;
  /** Time when the groups were erased, because calls of the build were deleted or purged. */
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) erased_at!: string | null;
}

export class BuildDto {
  id!: string;
  project_id!: string;
  recipe_name!: string;
  recipe_digest!: string;
  mode!: 'all' | 'new';
  builder_version!: number;
  @ApiProperty({ type: 'string', format: 'date-time' }) as_of!: string;
  digest!: string;
  manifest_digest!: string;
  counts!: BuildCountsDto;
  lints!: LintDto[];
  facts!: BuildFactsDto;
  jobs!: BuildJobDto[];
  svc_user_id!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) created_at!: string;
  /** Time when the groups were erased, because calls of the build were deleted or purged. */
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) erased_at!: string | null;
}

export class BuildsAnswerDto {
  builds!: BuildDto[];
}
