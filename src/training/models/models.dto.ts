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
  /**
   * When absent: the entity of the key. That is the one that its scopes name, if they name only one, else its user's
   * name.
   */
  @IsOptional() @IsProjectPart() entity?: string | null;
  @IsProjectPart() project!: string;
  @IsId() name!: string;
  @IsId() base_model!: string;
  /** Returns the existing model of this name instead of 409. */
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
  /** Order by step, by default ascending. */
  @IsOptional() @IsIn(['asc', 'desc']) order?: 'asc' | 'desc';
}

/** A checkpoint of a model. */
export class ModelCheckpointDto {
  id!: string;
  step!: number;
  /** Metrics that the trainer and `log` reported, by name; null stands for NaN. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'number', nullable: true } })
  metrics!: Record<string, number | null>;
  /**
   * Time when calls that the checkpoint or one of its ancestors was trained on were purged. In a list, absent for a
   * checkpoint without such a time.
   */
  @ApiPropertyOptional({ type: 'string', format: 'date-time', nullable: true })
  tainted_at?: string | null;
}

/** A provider of the gateway that serves a checkpoint. */
export class CheckpointServingDto {
  provider!: string;
  upstream_model!: string;
  expires_at!: string;
}

/** A checkpoint with its files, aliases and providers. */
export class CheckpointWithFilesDto extends ModelCheckpointDto {
  created_at!: string;
  /** Id of the job that made it. */
  @ApiProperty({ type: 'string', nullable: true }) job_id!: string | null;
  /** Location that its trainer reported. */
  @ApiProperty({ type: 'string', nullable: true }) uri!: string | null;
  /** SHA-256 of its manifest, when Skein stores the files. */
  @ApiProperty({ type: 'string', nullable: true }) sha256!: string | null;
  @ApiProperty({ type: 'number', nullable: true }) size_bytes!: number | null;
  /** Free-form settings that its trainer reported. */
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  config!: object | null;
  /** Files that Skein stores. */
  files!: ManifestFileDto[];
  aliases!: string[];
  /** Providers that serve it now. */
  serving!: CheckpointServingDto[];
}

export class ModelDeletedDto {
  model_id!: string;
  deleted_checkpoints!: number;
  /** Always false: models have no runs in Skein. */
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
  /** Steps without a checkpoint, and steps that were kept: the latest one, and the parent of a job under way. */
  not_found_steps!: number[];
}
