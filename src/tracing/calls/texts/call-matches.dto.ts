import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsBoolean, IsOptional } from 'class-validator';
import { IsIdList, IsProjectId, isStorable, rule } from '../../../platform/http/dto.js';

const MAX_TEXTS = 16;
const MAX_BYTES = 4096;

const isSearchedText = (each: boolean) =>
  rule(
    'isSearchedText',
    `must be a string of 1 to ${MAX_BYTES} bytes without \\u0000`,
    (value) => isStorable(value) && value !== '' && Buffer.byteLength(value) <= MAX_BYTES,
    each,
  );

const IsSearchedTexts = () =>
  applyDecorators(
    IsArray(),
    ArrayMinSize(1),
    ArrayMaxSize(MAX_TEXTS),
    isSearchedText(true),
    ApiProperty({
      type: 'array',
      minItems: 1,
      maxItems: MAX_TEXTS,
      items: { type: 'string', minLength: 1, maxLength: MAX_BYTES },
    }),
  );

/** Texts to find in some calls, such as those that a list shows. */
export class CallMatchesDto {
  @IsProjectId() project_id!: string;
  @IsIdList(100) call_ids!: string[];
  /** Each is searched by the rule of `$contains`: docs/query-language.md. */
  @IsOptional() @IsSearchedTexts() texts?: string[] | null;
  /** One text instead of `texts`, as clients of version 0.3.0 send it. */
  @IsOptional() @isSearchedText(false) text?: string | null;
  @IsOptional() @IsBoolean() case_insensitive?: boolean | null;
}

export class CallMatchDto {
  /** The id of the call. */
  id!: string;
  /** The value or key that contains the text. For JSON inside a string, the path of the string. */
  @ApiProperty({ example: 'inputs.messages.0.content' }) path!: string;
  /** Up to 40 characters before the text, decoded. */
  before!: string;
  /** The text as the call says it. */
  match!: string;
  /** Up to 40 characters after the text, decoded. */
  after!: string;
}

export class CallMatchesAnswerDto {
  /** In the order of `call_ids`, then of `texts`: at most 3 matches of each text in each call. */
  matches!: CallMatchDto[];
  /** Ids of calls that are too large to search in this request. */
  not_searched!: string[];
}
