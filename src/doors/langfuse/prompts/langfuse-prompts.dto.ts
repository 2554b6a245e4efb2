import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ArrayNotEmpty, IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { ANY_JSON, IsDateTime, IsId, IsText, MAX_INT } from '../../../platform/http/dto.js';
import {
  IsLabel,
  IsLabels,
  IsPromptName,
  IsVersion,
  MAX_LISTED,
  PROMPT_TYPES,
  type PromptType,
  PromptVersionFieldsDto,
} from '../../../tracing/objects/prompts/prompts.dto.js';

export class LangfusePromptCreateDto extends PromptVersionFieldsDto {
  @IsOptional() @IsText(500) commitMessage?: string | null;
}

export class LangfusePromptPathDto {
  /** The name, whose slashes may be encoded or not. */
  @IsPromptName() name!: string;
}

export class LangfusePromptVersionPathDto {
  @IsVersion() version!: number;
}

export class LangfusePromptWordDto {
  @IsOptional() @IsVersion() version?: number;
  @IsOptional() @IsLabel() label?: string;
}

export class LangfusePromptGetDto extends LangfusePromptWordDto {
  /** `false` returns references to other prompts as they were written. */
  @IsOptional()
  @IsIn(['true', 'false'])
  @ApiPropertyOptional({ enum: ['true', 'false'] })
  resolve?: string;
}

export class LangfusePromptLabelsDto {
  @ArrayNotEmpty() @IsLabels() newLabels!: string[];
}

export class LangfusePromptsQueryDto {
  @IsOptional() @IsPromptName() name?: string;
  @IsOptional() @IsLabel() label?: string;
  @IsOptional() @IsId() tag?: string;
  @IsOptional() @IsDateTime() fromUpdatedAt?: string;
  @IsOptional() @IsDateTime() toUpdatedAt?: string;
  @IsOptional() @IsInt() @Min(1) @Max(MAX_INT) page?: number;
  @IsOptional() @IsInt() @Min(1) @Max(MAX_LISTED) limit?: number;
}

/** One version of a prompt, as SDKs of Langfuse read it. */
export class LangfusePromptDto {
  id!: string;
  projectId!: string;
  name!: string;
  @ApiProperty({ enum: PROMPT_TYPES }) type!: PromptType;
  @ApiProperty({ type: 'integer' }) version!: number;
  /** A text, or a list of messages and placeholders, as it was sent. */
  @ApiProperty(ANY_JSON) prompt!: unknown;
  /** Any JSON value, as it was sent. */
  @ApiProperty(ANY_JSON) config!: unknown;
  labels!: string[];
  tags!: string[];
  @ApiProperty({ type: 'string', nullable: true }) commitMessage!: string | null;
  @ApiProperty({ type: 'string', format: 'date-time' }) createdAt!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) updatedAt!: string;
  /** Null. References to other prompts are resolved without naming them. */
  @ApiProperty({ type: 'object', additionalProperties: false, nullable: true })
  resolutionGraph!: null;
}

export class LangfuseListedPromptDto {
  name!: string;
  @ApiProperty({ enum: PROMPT_TYPES }) type!: PromptType;
  @ApiProperty({ type: [Number] }) versions!: number[];
  labels!: string[];
  tags!: string[];
  @ApiProperty({ type: 'string', format: 'date-time' }) lastUpdatedAt!: string;
  /** Any JSON value: that of the newest version that matches. */
  @ApiProperty(ANY_JSON) lastConfig!: unknown;
}

export class LangfusePageDto {
  @ApiProperty({ type: 'integer' }) page!: number;
  @ApiProperty({ type: 'integer' }) limit!: number;
  @ApiProperty({ type: 'integer' }) totalItems!: number;
  @ApiProperty({ type: 'integer' }) totalPages!: number;
}

export class LangfusePromptsDto {
  @ApiProperty({ type: [LangfuseListedPromptDto] }) data!: LangfuseListedPromptDto[];
  meta!: LangfusePageDto;
}
