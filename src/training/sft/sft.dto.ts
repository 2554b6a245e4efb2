import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsBoolean, IsIn, IsOptional, IsUUID, ValidateNested } from 'class-validator';
import { IsJsonObject, IsText, MAX_INT, rule } from '../../platform/http/dto.js';
import { IsProjectPart, ProjectPageQueryDto } from '../preview.dto.js';

/** Largest list of learning rates, one for each batch: more batches than the largest job has. */
const MAX_RATES = 1_000_000;
const MAX_URL = 4096;

const ASSISTANT_TURNS = ['all', 'last'] as const;
const RATE = { type: 'number', minimum: 0 } as const;

const isRate = (value: unknown) =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

const IsRate = () =>
  rule(
    'isRate',
    `must be a number from 0, or a list of 1 to ${MAX_RATES} of them`,
    (value) =>
      isRate(value) ||
      (Array.isArray(value) &&
        value.length > 0 &&
        value.length <= MAX_RATES &&
        value.every(isRate)),
  );

const IsBatchSize = () =>
  rule(
    'isBatchSize',
    'must be a whole number from 1, or "auto"',
    (value) =>
      value === 'auto' ||
      (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_INT),
  );

/** Settings of the training. The trainer chooses the settings that are absent. */
export class SftConfigDto {
  /** Rows of a gradient step. */
  @IsOptional()
  @IsBatchSize()
  @ApiProperty({
    required: false,
    nullable: true,
    oneOf: [
      { type: 'integer', minimum: 1 },
      { type: 'string', enum: ['auto'] },
    ],
  })
  batch_size?: number | 'auto' | null;
  /** A rate for all gradient steps, or a list with one for each step. */
  @IsOptional()
  @IsRate()
  @ApiProperty({
    required: false,
    nullable: true,
    oneOf: [RATE, { type: 'array', items: RATE, minItems: 1, maxItems: MAX_RATES }],
  })
  learning_rate?: number | number[] | null;
  /** Messages of the assistant to train. */
  @IsOptional() @IsIn(ASSISTANT_TURNS) assistant_turns?: 'all' | 'last' | null;
  @IsOptional() @IsBoolean() metric_logging?: boolean | null;
}

export class SftJobCreateDto {
  @IsUUID() model_id!: string;
  /**
   * URL of a build or of training data in the project of the model: `skein:///builds/<id>` or
   * `skein:///training-data/<id>`.
   */
  @IsText(MAX_URL, { min: 1 }) training_data_url!: string;
  @IsOptional() @ValidateNested() @Type(() => SftConfigDto) config?: SftConfigDto | null;
  /** Free-form: more settings for the trainer. */
  @IsOptional() @IsJsonObject() experimental_config?: Record<string, unknown> | null;
}

export class TrainingDataCreateQueryDto {
  /** The entity of the key when absent, as for a model. */
  @IsOptional() @IsProjectPart() entity?: string;
  @IsProjectPart() project!: string;
}

export class TrainingDataQueryDto extends ProjectPageQueryDto {}

export class TrainingDataDto {
  id!: string;
  entity!: string;
  project!: string;
  /** URL for `training_data_url` of a job. */
  url!: string;
  num_rows!: number;
  /** Size of the body as it was sent; `sha256` is its digest in hexadecimal. */
  size_bytes!: number;
  sha256!: string;
  created_at!: string;
}

export class TrainingDataDeletedDto {
  /** Jobs that train on the data. Their copies are deleted too. */
  job_ids!: string[];
}
