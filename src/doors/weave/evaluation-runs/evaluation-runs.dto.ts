import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { ANY_JSON, AnyJson, IsId, IsJsonObject, IsText } from '../../../platform/http/dto.js';
import { IsTexts, TypedObjectsQueryDto } from '../typed-objects/typed-objects.dto.js';

const MAX_REF = 2048;
/** Names in one query string. */
const MAX_LISTED = 100;

export class RunCreateDto {
  /** A ref of an evaluation. */
  @IsText(MAX_REF, { min: 1 }) evaluation!: string;
  /** A ref of a model or an op. */
  @IsText(MAX_REF, { min: 1 }) model!: string;
  @IsOptional() @IsId() source_evaluation_run_id?: string | null;
}

export class RunCreatedDto {
  evaluation_run_id!: string;
}

export class RunsQueryDto extends TypedObjectsQueryDto {
  @IsOptional()
  @IsTexts(MAX_LISTED, MAX_REF)
  @ApiProperty({ type: 'string', isArray: true, required: false })
  evaluations?: string | string[] | null;
  @IsOptional()
  @IsTexts(MAX_LISTED, MAX_REF)
  @ApiProperty({ type: 'string', isArray: true, required: false })
  models?: string | string[] | null;
  @IsOptional()
  @IsTexts(MAX_LISTED, 256)
  @ApiProperty({ type: 'string', isArray: true, required: false })
  evaluation_run_ids?: string | string[] | null;
}

export class RunDto {
  evaluation_run_id!: string;
  evaluation!: string | null;
  model!: string | null;
  status!: 'running' | 'success' | 'error' | 'descendant_error';
  @ApiProperty({ type: 'string', format: 'date-time' }) started_at!: string;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) finished_at!: string | null;
  /** Any JSON value: the summary of the request that finished the run, or else the one that the service computed. */
  @ApiProperty(ANY_JSON) summary!: unknown;
  source_evaluation_run_id!: string | null;
}

export class RunFinishDto {
  /** Free-form. Stored as sent. */
  @IsOptional() @IsJsonObject() summary?: object | null;
}

export class FinishedDto {
  success!: boolean;
}

export class RunsDeleteDto {
  @IsTexts(MAX_LISTED, 256)
  @ApiProperty({ type: 'string', isArray: true })
  evaluation_run_ids!: string | string[];
}

export class PredictionCreateDto {
  /** A ref of a model or an op. */
  @IsText(MAX_REF, { min: 1 }) model!: string;
  /** Free-form. Stored as sent. */
  @IsJsonObject() inputs!: object;
  /** Any JSON value. Stored as sent. */
  @AnyJson() @ApiProperty(ANY_JSON) output!: unknown;
  @IsOptional() @IsId() evaluation_run_id?: string | null;
  /** Spans of the prediction: `{trace_id, span_id}`, or a list of these. Stored as sent. */
  @IsOptional() @AnyJson() @ApiProperty(ANY_JSON) genai_span_ref?: unknown;
}

export class PredictionCreatedDto {
  prediction_id!: string;
}

export class PredictionsQueryDto extends TypedObjectsQueryDto {
  @IsOptional() @IsId() evaluation_run_id?: string | null;
}

export class PredictionDto {
  prediction_id!: string;
  model!: string | null;
  /** Any JSON value, as it was stored. */
  @ApiProperty(ANY_JSON) inputs!: unknown;
  /** Any JSON value, as it was stored. */
  @ApiProperty(ANY_JSON) output!: unknown;
  evaluation_run_id!: string | null;
  svc_user_id!: string | null;
}

export class PredictionsDeleteDto {
  @IsTexts(MAX_LISTED, 256)
  @ApiProperty({ type: 'string', isArray: true })
  prediction_ids!: string | string[];
}

export class ScoreCreateDto {
  @IsId() prediction_id!: string;
  /** A ref of a scorer. */
  @IsText(MAX_REF, { min: 1 }) scorer!: string;
  /** Any JSON value. Stored as sent. */
  @AnyJson() @ApiProperty(ANY_JSON) value!: unknown;
  @IsOptional() @IsId() evaluation_run_id?: string | null;
}

export class ScoreCreatedDto {
  score_id!: string;
}

export class ScoresQueryDto extends PredictionsQueryDto {}

export class ScoreDto {
  score_id!: string;
  scorer!: string | null;
  /** Any JSON value, as it was stored. */
  @ApiProperty(ANY_JSON) value!: unknown;
  evaluation_run_id!: string | null;
  svc_user_id!: string | null;
}

export class ScoresDeleteDto {
  @IsTexts(MAX_LISTED, 256)
  @ApiProperty({ type: 'string', isArray: true })
  score_ids!: string | string[];
}
