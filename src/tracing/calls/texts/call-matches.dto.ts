import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { IsIdList, IsProjectId, isStorable, rule } from '../../../platform/http/dto.js';

const MAX_BYTES = 4096;

const IsSearchedText = () =>
  applyDecorators(
    rule(
      'isSearchedText',
      `must be a string of 1 to ${MAX_BYTES} bytes without \\u0000`,
      (value) => isStorable(value) && value !== '' && Buffer.byteLength(value) <= MAX_BYTES,
    ),
    ApiProperty({ type: 'string', minLength: 1, maxLength: MAX_BYTES }),
  );

/** A text to find in some calls, such as those that a list shows. */
export class CallMatchesDto {
  @IsProjectId() project_id!: string;
  @IsIdList(100) call_ids!: string[];
  /** Is searched by the rule of `$contains`: docs/query-language.md. */
  @IsSearchedText() text!: string;
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
  /** At most 3 matches of each call, in the order of `call_ids`. */
  matches!: CallMatchDto[];
  /** Ids of calls that are too large to search in this request. */
  not_searched!: string[];
}
