import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsArray, Matches } from 'class-validator';
import { IsId, IsProjectId, IsText, MaxItems } from '../../../platform/http/dto.js';
import { ALIAS_PATTERN } from '../version-selector.js';

/** Tags of one version, and of one request. */
export const MAX_TAGS = 1000;
/** Aliases of one object, and of one request. */
export const MAX_ALIASES = 1000;

const IsAliases = () =>
  applyDecorators(
    IsArray(),
    MaxItems(MAX_ALIASES),
    Matches(ALIAS_PATTERN, {
      each: true,
      message:
        'must have 1 to 128 characters without "/", ":" and control characters, single spaces only within, and must not be "latest", v<number> or 43 letters and digits: these mean other versions',
    }),
    ApiProperty({ type: 'array', items: { type: 'string', maxLength: 128 } }),
  );

export class ObjectPathDto {
  @IsText(256) object_id!: string;
}

export class VersionPathDto extends ObjectPathDto {
  /** A version, as in `/obj/read`. */
  @IsText(256) digest!: string;
}

export class TagsDto {
  @IsProjectId() project_id!: string;
  @IsArray() @MaxItems(MAX_TAGS) @IsId({ each: true }) tags!: string[];
}

export class AliasesSetDto {
  @IsProjectId() project_id!: string;
  /** A version, as in `/obj/read`. */
  @IsText(256) digest!: string;
  @IsAliases() aliases!: string[];
}

export class AliasesRemoveDto {
  @IsProjectId() project_id!: string;
  @IsArray() @MaxItems(MAX_ALIASES) @IsId({ each: true }) aliases!: string[];
}

export class LabelsQueryDto {
  @IsProjectId() project_id!: string;
}

export class TagsAnswerDto {
  tags!: string[];
}

export class AliasesAnswerDto {
  /** Without `latest`, which every object has. */
  aliases!: string[];
}
