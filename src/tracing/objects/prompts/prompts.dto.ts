import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
} from 'class-validator';
import {
  ANY_JSON,
  AnyJson,
  IsCount,
  IsDateTime,
  IsId,
  IsProjectId,
  IsText,
  MAX_INT,
  MaxItems,
} from '../../../platform/http/dto.js';

/** Bytes of the stored JSON text of one version. */
export const MAX_PROMPT_BYTES = 1024 * 1024;
/** Characters of the text of a `config`, because a list of 100 prompts shows theirs. */
export const MAX_CONFIG_LENGTH = 64 * 1024;
const MAX_LABELS = 100;
const MAX_TAGS = 32;
export const MAX_LISTED = 100;

const LABEL = /^[a-z0-9_.-]{1,36}$/;
const NAME = /^(?!\/)(?!.*\/\/)(?!.*\/$)[^|\p{Cc}\p{Cs}]{1,255}$/u;

/** Requires the name of a prompt. It may have folders, such as `support/refund`. */
export const IsPromptName = () =>
  applyDecorators(
    IsString(),
    Matches(NAME, {
      message:
        'must have 1 to 255 characters without "|", "//" and control characters, and no "/" at either end',
    }),
    ApiProperty({ type: 'string', maxLength: 255 }),
  );

const LABEL_RULE = 'must have 1 to 36 lower-case letters, digits, "_", "." or "-"';
export const IsLabels = () =>
  applyDecorators(
    IsArray(),
    MaxItems(MAX_LABELS),
    Matches(LABEL, { each: true, message: LABEL_RULE }),
    ApiProperty({ type: 'array', items: { type: 'string', pattern: LABEL.source } }),
  );
export const IsLabel = () =>
  applyDecorators(
    IsString(),
    Matches(LABEL, { message: LABEL_RULE }),
    ApiProperty({ type: 'string', pattern: LABEL.source }),
  );
export const IsTags = () => applyDecorators(IsArray(), MaxItems(MAX_TAGS), IsId({ each: true }));
export const IsVersion = () =>
  applyDecorators(
    IsInt(),
    Min(1),
    Max(MAX_INT),
    ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_INT }),
  );

export const PROMPT_TYPES = ['text', 'chat'] as const;
export type PromptType = (typeof PROMPT_TYPES)[number];

/** The fields of a new version of a prompt, for each API that makes one. */
export class PromptVersionFieldsDto {
  @IsPromptName() name!: string;
  /** `text` when absent. All versions of a prompt have one type. */
  @IsOptional() @IsIn(PROMPT_TYPES) type?: PromptType | null;
  /**
   * A text, or a list of messages `{role, content}` and placeholders `{type: "placeholder", name}`. Stored as sent.
   */
  @AnyJson() @ApiProperty(ANY_JSON) prompt!: unknown;
  /** Any JSON value, such as the parameters of a model. Stored as sent. */
  @IsOptional() @AnyJson() @ApiProperty(ANY_JSON) config?: unknown;
  /** Labels that move to this version. `latest` follows the newest version by itself. */
  @IsOptional() @IsLabels() labels?: string[] | null;
  /** Tags of the prompt, instead of those that it has. When absent, it keeps them. */
  @IsOptional() @IsTags() tags?: string[] | null;
}

export class PromptCreateDto extends PromptVersionFieldsDto {
  @IsProjectId() project_id!: string;
  /** Says why this version was made. */
  @IsOptional() @IsText(500) commit_message?: string | null;
}

/** Names a version of a prompt by `version` or `label`, not both. Neither means the label `production`. */
export class PromptVersionDto {
  @IsProjectId() project_id!: string;
  @IsPromptName() name!: string;
  @IsOptional() @IsVersion() version?: number | null;
  @IsOptional() @IsLabel() label?: string | null;
}

export class PromptGetDto extends PromptVersionDto {
  /** False returns references to other prompts as they were written. Otherwise their texts take their places. */
  @IsOptional() @IsBoolean() resolve?: boolean | null;
}

export class PromptLabelsDto {
  @IsProjectId() project_id!: string;
  @IsPromptName() name!: string;
  /** The version that gets the labels. */
  @IsVersion() version!: number;
  @ArrayNotEmpty() @IsLabels() labels!: string[];
}

export class PromptLabelsRemoveDto {
  @IsProjectId() project_id!: string;
  @IsPromptName() name!: string;
  @ArrayNotEmpty() @IsLabels() labels!: string[];
}

/** A `version` or a `label` deletes one version; neither deletes all. */
export class PromptDeleteDto extends PromptVersionDto {}

export class PromptsDeletedDto {
  num_deleted!: number;
}

export class PromptsQueryDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @IsPromptName() name?: string | null;
  @IsOptional() @IsLabel() label?: string | null;
  @IsOptional() @IsId() tag?: string | null;
  /** Versions from this time. */
  @IsOptional() @IsDateTime() from?: string | null;
  /** Versions before this time. */
  @IsOptional() @IsDateTime() to?: string | null;
  /** 1 to 100 prompts; 10 when absent. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_LISTED) limit?: number | null;
  @IsCount() offset?: number | null;
}

/** One version of a prompt. */
export class PromptDto {
  project_id!: string;
  name!: string;
  @ApiProperty({ enum: PROMPT_TYPES }) type!: PromptType;
  @ApiProperty({ type: 'integer' }) version!: number;
  /** The prompt as it was sent. References to other prompts are resolved unless `resolve` is false. */
  @ApiProperty(ANY_JSON) prompt!: unknown;
  /** Any JSON value, as it was sent. */
  @ApiProperty(ANY_JSON) config!: unknown;
  /** With `latest` for the newest version. */
  labels!: string[];
  tags!: string[];
  @ApiProperty({ type: 'string', nullable: true }) commit_message!: string | null;
  @ApiProperty({ type: 'string', format: 'date-time' }) created_at!: string;
  @ApiProperty({ type: 'string', nullable: true }) created_by!: string | null;
  /** The object that holds the prompt, as in `/obj/read`. */
  object_id!: string;
  digest!: string;
  ref!: string;
}

export class ListedPromptDto {
  name!: string;
  @ApiProperty({ enum: PROMPT_TYPES }) type!: PromptType;
  /** The versions that match, the newest first. */
  @ApiProperty({ type: [Number] }) versions!: number[];
  /** The labels of these versions. */
  labels!: string[];
  tags!: string[];
  @ApiProperty({ type: 'string', format: 'date-time' }) last_updated_at!: string;
  /** Any JSON value: that of the newest version that matches. */
  @ApiProperty(ANY_JSON) last_config!: unknown;
  object_id!: string;
}

export class PromptsAnswerDto {
  @ApiProperty({ type: [ListedPromptDto] }) prompts!: ListedPromptDto[];
  /** Prompts that match. */
  @ApiProperty({ type: 'integer' }) total!: number;
}
