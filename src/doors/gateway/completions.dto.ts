import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import {
  ANY_JSON,
  IsId,
  IsJsonObject,
  IsProjectId,
  IsText,
  IsThreadId,
} from '../../platform/http/dto.js';

export class CompletionsCreateDto {
  @IsProjectId() project_id!: string;
  /**
   * A request of OpenAI's, with `model` and `messages`. `prompt` is the ref of an object with messages, which go first; `template_vars`
   * replace `{name}` in all messages but those of the assistant.
   */
  @IsJsonObject() inputs!: object;
  /** False records nothing. */
  @IsOptional() @IsBoolean() track_llm_call?: boolean | null;
  @IsOptional() @IsId() parent_id?: string | null;
  @IsOptional() @IsId() trace_id?: string | null;
  /** The thread of the call. */
  @IsThreadId() conversation_id?: string | null;
  /** Kept among the attributes, as is `source`. */
  @IsOptional() @IsText(1024) conversation_name?: string | null;
  @IsOptional() @IsText(1024) source?: string | null;
}

export class CompletionsCreatedDto {
  /** What the provider answered, or `{error}`. */
  @ApiProperty(ANY_JSON) response!: unknown;
  /** When the call is recorded. */
  weave_call_id?: string;
  conversation_id?: string;
}
