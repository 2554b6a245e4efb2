import { IsInt, IsOptional, IsUUID, Max, Min } from 'class-validator';
import { IsId, IsText, MAX_INT } from '../../platform/http/dto.js';
import { PageQueryDto } from '../preview.dto.js';

/** What a provider serves. */
export class ServedDto {
  @IsUUID() model_id!: string;
  @IsInt() @Min(0) @Max(MAX_INT) step!: number;
  /** The name of one of the providers that the operator set up. */
  @IsText(64, { min: 1 }) provider!: string;
}

export class ServingDto extends ServedDto {
  /** What the provider calls the checkpoint. */
  @IsText(256, { min: 1 }) upstream_model!: string;
  /** Unless it is said again within this time, it is not served any more. */
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
  /** Whether its files are here. */
  files!: boolean;
  aliases!: string[];
}

export class ServableModelDto {
  id!: string;
  entity!: string;
  project!: string;
  name!: string;
  base_model!: string;
  /** The newest ones, those with an alias, and step 0; none that was trained on purged calls. The newest first. */
  steps!: ServableStepDto[];
}
