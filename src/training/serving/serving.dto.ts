import { IsInt, IsOptional, IsUUID, Max, Min } from 'class-validator';
import { IsId, IsText, MAX_INT } from '../../platform/http/dto.js';
import { PageQueryDto } from '../preview.dto.js';

/** A checkpoint that a provider serves. */
export class ServedDto {
  @IsUUID() model_id!: string;
  @IsInt() @Min(0) @Max(MAX_INT) step!: number;
  /** Name of a provider that the operator has configured. */
  @IsText(64, { min: 1 }) provider!: string;
}

export class ServingDto extends ServedDto {
  /** Name of the checkpoint at the provider. */
  @IsText(256, { min: 1 }) upstream_model!: string;
  /** Seconds until the report expires. Repeat it within this time while the checkpoint is served. */
  @IsInt() @Min(30) @Max(3600) ttl_seconds!: number;
}

export class ServingAnswerDto {
  expires_at!: string;
}

export class ServableQueryDto extends PageQueryDto {
  @IsOptional() @IsId() base_model?: string;
}

/** A checkpoint that a server may load. */
export class ServableStepDto {
  step!: number;
  /** True when Skein stores its files. */
  files!: boolean;
  aliases!: string[];
}

export class ServableModelDto {
  id!: string;
  entity!: string;
  project!: string;
  name!: string;
  base_model!: string;
  /**
   * The newest steps, steps with an alias, and step 0, in descending order. Steps that were trained on purged calls
   * are left out.
   */
  steps!: ServableStepDto[];
}
