import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  Max,
  Min,
} from 'class-validator';
import { IsId, MAX_INT } from '../../platform/http/dto.js';
import { ManifestFileDto } from '../manifest.dto.js';
import { IsProjectPart, PageQueryDto, ProjectPageQueryDto } from '../preview.dto.js';

export class ModelCreateDto {
  /** The key's own when absent: that of its scopes, if they name one only, else its user's name. */
  @IsOptional() @IsProjectPart() entity?: string | null;
  @IsProjectPart() project!: string;
  @IsId() name!: string;
  @IsId() base_model!: string;
  /** Answers the model of this name when there is one, instead of 409. */
  @IsOptional() @IsBoolean() return_existing?: boolean | null;
}

export class ModelDto {
  id!: string;
  entity!: string;
  project!: string;
  name!: string;
  base_model!: string;
  /** Always null. */
  @ApiPropertyOptional({ type: 'string', nullable: true }) run_id!: null;
}

export class ModelsQueryDto extends ProjectPageQueryDto {
  @IsOptional() @IsId() name?: string;
}

export class CheckpointsQueryDto extends PageQueryDto {
  /** By step, by default ascending. */
  @IsOptional() @IsIn(['asc', 'desc']) order?: 'asc' | 'desc';
}

/** A checkpoint of a model. */
export class ModelCheckpointDto {
  id!: string;
  step!: number;
  /** What the trainer and `log` reported, by name; null stands for NaN. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'number', nullable: true } })
  metrics!: Record<string, number | null>;
  /** When calls were purged that it, or one of its ancestors, was trained on. A list has it only where there is such a time. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time', nullable: true })
  tainted_at?: string | null;
}

/** A provider of the gateway that serves a checkpoint. */
export class CheckpointServingDto {
  provider!: string;
  upstream_model!: string;
  expires_at!: string;
}

/** A checkpoint with what is known of its files. */
export class CheckpointWithFilesDto extends ModelCheckpointDto {
  created_at!: string;
  /** The job that made it. */
  @ApiProperty({ type: 'string', nullable: true }) job_id!: string | null;
  /** Where its trainer put it. */
  @ApiProperty({ type: 'string', nullable: true }) uri!: string | null;
  /** Of its manifest, when its files are here. */
  @ApiProperty({ type: 'string', nullable: true }) sha256!: string | null;
  @ApiProperty({ type: 'number', nullable: true }) size_bytes!: number | null;
  /** What its trainer said of it: free-form. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  config!: object | null;
  /** Those that are here. */
  files!: ManifestFileDto[];
  aliases!: string[];
  /** Who serves it now. */
  serving!: CheckpointServingDto[];
}

export class ModelDeletedDto {
  model_id!: string;
  deleted_checkpoints!: number;
  /** Always false: models have no runs here. */
  deleted_run!: boolean;
}

export class CheckpointsDeleteDto {
  @IsArray()
  @ArrayMaxSize(10_000)
  @IsInt({ each: true })
  @Min(0, { each: true })
  @Max(MAX_INT, { each: true })
  steps!: number[];
}

export class CheckpointsDeletedDto {
  deleted_count!: number;
  /** Steps without a checkpoint, and those that stay: the latest one, and the parent of a job under way. */
  not_found_steps!: number[];
}
