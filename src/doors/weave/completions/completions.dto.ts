import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import {
  ANY_JSON,
  IsId,
  IsJsonObject,
  IsProjectId,
  IsText,
  IsThreadId,
} from '../../../platform/http/dto.js';

export class CompletionsCreateDto {
  @IsProjectId() project_id!: string;
  /**
   * A request in OpenAI's shape, with `model` and `messages`. `prompt` is the ref of an object whose messages come
   * first. `template_vars` replace `{name}` in all messages except those of the assistant.
   */
  @IsJsonObject() inputs!: object;
  /** False when the call is not to be recorded. */
  @IsOptional() @IsBoolean() track_llm_call?: boolean | null;
  @IsOptional() @IsId() parent_id?: string | null;
  @IsOptional() @IsId() trace_id?: string | null;
  /** The thread of the call. */
  @IsThreadId() conversation_id?: string | null;
  /** Stored in the attributes of the call, like `source`. */
  @IsOptional() @IsText(1024) conversation_name?: string | null;
  @IsOptional() @IsText(1024) source?: string | null;
}

export class CompletionsCreatedDto {
  /** The answer of the provider, or `{error}`. */
  @ApiProperty(ANY_JSON) response!: unknown;
  /** The id of the call, if it is recorded. */
  weave_call_id?: string;
  conversation_id?: string;
}
