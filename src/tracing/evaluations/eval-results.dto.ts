import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsOptional,
  ValidateNested,
} from 'class-validator';
import {
  ANY_JSON,
  IsId,
  IsIdList,
  IsJsonObject,
  IsProjectId,
  IsText,
  IsTextList,
  PageDto,
} from '../../platform/http/dto.js';

/** Evaluations that one request may read. */
export const MAX_EVALUATIONS = 20;
const MAX_CONDITIONS = 32;
/** Evaluations that one request may compare with a baseline. */
export const MAX_OTHERS = 4;
const MAX_NAMED_SCORES = 50;

const IsEvaluations = () => applyDecorators(IsOptional(), IsIdList(MAX_EVALUATIONS));

export class EvalSortDto {
  /** `scores.<name>[.<path>]`, `inputs.<path>`, `output.<path>` or `row_digest`. */
  @IsText(1000) field!: string;
  @IsIn(['asc', 'desc']) direction!: 'asc' | 'desc';
  /** Considers only this evaluation. */
  @IsOptional() @IsId() evaluation_call_id?: string | null;
  /** `value` (the default) sorts by the value itself, `difference` by the distance between the evaluations' means. */
  @IsOptional() @IsIn(['value', 'difference']) mode?: 'value' | 'difference' | null;
}

export class EvalFilterDto {
  /** An expression tree: docs/query-language.md. A row matches when one of its trials matches. */
  @IsJsonObject() query!: object;
  /** Considers only this evaluation. */
  @IsOptional() @IsId() evaluation_call_id?: string | null;
}

export class EvalResultsQueryDto extends PageDto {
  /** Ids of `Evaluation.evaluate` calls. */
  @IsEvaluations() evaluation_call_ids?: string[] | null;
  /** Synonym of `evaluation_call_ids`, since runs are calls. */
  @IsEvaluations() evaluation_run_ids?: string[] | null;
  /** Returns only rows that all the evaluations have. */
  @IsOptional() @IsBoolean() require_intersection?: boolean | null;
  /** True when absent. */
  @IsOptional() @IsBoolean() include_rows?: boolean | null;
  @IsOptional() @IsBoolean() include_summary?: boolean | null;
  /** The value of `require_intersection` when absent. */
  @IsOptional() @IsBoolean() summary_require_intersection?: boolean | null;
  @IsOptional() @IsBoolean() include_raw_data_rows?: boolean | null;
  /** Returns the rows of datasets instead of refs to them. Requires `include_raw_data_rows`. */
  @IsOptional() @IsBoolean() resolve_row_refs?: boolean | null;
  /** True when absent. False skips the calls below the trials. */
  @IsOptional() @IsBoolean() include_predict_and_score_children?: boolean | null;
  /** Adds the costs of predictions, without those of scorers. */
  @IsOptional() @IsBoolean() include_costs?: boolean | null;
  /** Sorted by `row_digest` when absent. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_CONDITIONS)
  @ValidateNested({ each: true })
  @Type(() => EvalSortDto)
  sort_by?: EvalSortDto[] | null;
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_CONDITIONS)
  @ValidateNested({ each: true })
  @Type(() => EvalFilterDto)
  filters?: EvalFilterDto[] | null;
  /** Combines the filters of different evaluations; those of one evaluation must all match. `or` when absent. */
  @IsOptional() @IsIn(['and', 'or']) filter_logic_operator?: 'and' | 'or' | null;
}

export class SpanRefDto {
  trace_id!: string;
  span_id!: string;
}

export class TrialDto {
  predict_and_score_call_id!: string;
  predict_call_id!: string | null;
  /** Any JSON value, as it was stored. */
  @ApiProperty(ANY_JSON) model_output!: unknown;
  /** Free-form: the output of each scorer, keyed by its name, as it was stored. */
  @ApiProperty({ type: 'object', additionalProperties: true }) scores!: object;
  model_latency_seconds!: number | null;
  total_tokens!: number | null;
  /** In US dollars; null when a price is unknown. */
  total_cost!: number | null;
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' } })
  scorer_call_ids!: Record<string, string>;
  genai_span_ref?: SpanRefDto[];
}

export class RowTrialsDto {
  evaluation_call_id!: string;
  trials!: TrialDto[];
}

export class EvalRowDto {
  row_digest!: string;
  /** Any JSON value. Present only with `include_raw_data_rows`. */
  @ApiProperty({ ...ANY_JSON, required: false }) raw_data_row?: unknown;
  evaluations!: RowTrialsDto[];
}

export class ScorerStatDto {
  scorer_key!: string;
  /** The path inside a score that is an object; null for the score itself. */
  path!: string | null;
  value_type!: 'binary' | 'continuous' | 'text';
  trial_count!: number;
  numeric_count!: number;
  numeric_mean!: number | null;
  pass_true_count!: number;
  pass_known_count!: number;
  pass_rate!: number | null;
  pass_signal_coverage!: number | null;
}

export class EvaluationSummaryDto {
  evaluation_call_id!: string;
  trial_count!: number;
  scorer_stats!: ScorerStatDto[];
  predict_total_tokens!: number | null;
  predict_total_cost!: number | null;
  evaluation_ref!: string | null;
  model_ref!: string | null;
  display_name!: string | null;
  trace_id!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) started_at!: string;
}

export class EvalSummaryDto {
  row_count!: number;
  evaluations!: EvaluationSummaryDto[];
}

export class EvalResultsDto {
  rows!: EvalRowDto[];
  /** Number of rows on all pages. */
  total_rows!: number;
  summary?: EvalSummaryDto;
  warnings!: string[];
}

export class EvalCompareDto {
  /** The evaluation that the others are compared with. */
  @IsId() baseline_call_id!: string;
  @ArrayNotEmpty() @IsIdList(MAX_OTHERS) other_call_ids!: string[];
  /** Names of scores as `<scorer>[.<path>]`; all when absent. */
  @IsOptional() @IsTextList(MAX_NAMED_SCORES, 1000) scores?: string[] | null;
}

/** One number of each paired row, in the baseline and in the other evaluation. */
export class ComparedDto {
  /** Number of rows for which both evaluations have a value. Each row counts once: its trials are averaged. */
  n!: number;
  baseline_mean!: number | null;
  other_mean!: number | null;
  /** Mean of other − baseline over the rows. */
  difference!: number | null;
  /** The 95 % confidence interval of the difference; null for fewer than two rows. */
  @ApiProperty({ type: 'array', items: { type: 'number' }, nullable: true })
  interval!: [number, number] | null;
  interval_method!: string | null;
  /** Two-sided, for the hypothesis that the evaluations do not differ. */
  p_value!: number | null;
  test!: string | null;
  source!: string | null;
  rows_up!: number;
  rows_down!: number;
  rows_same!: number;
}

export class ComparedScoreDto extends ComparedDto {
  scorer_key!: string;
  path!: string | null;
  value_type!: 'binary' | 'continuous';
  /** The p-value after Holm's correction for all scores of the answer. */
  p_value_holm!: number | null;
}

export class ComparedEvaluationDto {
  evaluation_call_id!: string;
  /** Number of rows that both evaluations have. */
  rows_paired!: number;
  rows_only_baseline!: number;
  rows_only_other!: number;
  scores!: ComparedScoreDto[];
  latency_seconds!: ComparedDto;
  total_tokens!: ComparedDto;
  total_cost!: ComparedDto;
  /** Costs of the scorers' own calls. */
  judge_cost!: ComparedDto;
}

export class EvalComparedDto {
  baseline_call_id!: string;
  confidence!: number;
  comparisons!: ComparedEvaluationDto[];
  warnings!: string[];
}

export class EvaluationStatusQueryDto {
  @IsProjectId() project_id!: string;
  @IsId() call_id!: string;
}

export class StatusDto {
  code!: 'not_found' | 'running' | 'failed' | 'complete';
  completed_rows?: number;
  total_rows?: number;
  error?: string;
  /** Any JSON value, as it was stored. */
  @ApiProperty({ ...ANY_JSON, required: false }) output?: unknown;
}

export class EvaluationStatusDto {
  status!: StatusDto;
}
