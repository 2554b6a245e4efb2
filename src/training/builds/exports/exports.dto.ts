import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { refTo } from '../../trajectory-rules.js';

const MESSAGES = { type: 'array', items: refTo('ChatMessageDto') } as const;

const OBJECT = { description: 'Free-form.', additionalProperties: true } as const;

/** The member that every line has. */
export class ExportedDto {
  /** Free-form, as the call recorded them; absent when the call had no tools. */
  @ApiPropertyOptional({ type: 'array', items: { description: 'Any JSON value.' } })
  tools?: unknown[];
}

/** A line of `openai-sft`. Turns with weight 0 are not trained. */
export class SftExportDto extends ExportedDto {
  @ApiProperty(MESSAGES) messages!: object[];
}

/**
 * A line of `openai-rft`: a prompt and the best answer to it. A grader may read the answer as
 * `item.reference_answer`.
 */
export class RftExportDto extends ExportedDto {
  @ApiProperty(MESSAGES) messages!: object[];
  group_key!: string;
  /** Content of the best answer; null when no answer was good. */
  @ApiProperty({
    description: 'A text, or a list of parts.',
    nullable: true,
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'object', ...OBJECT } }],
  })
  reference_answer!: unknown;
  reference_reward!: number;
}

/** A line of `trl-sft`: one turn of the assistant. */
export class CompletionExportDto extends ExportedDto {
  @ApiProperty(MESSAGES) prompt!: object[];
  @ApiProperty(MESSAGES) completion!: object[];
}

/** A line of `trl-dpo`. */
export class DpoExportDto extends ExportedDto {
  @ApiProperty(MESSAGES) prompt!: object[];
  @ApiProperty(MESSAGES) chosen!: object[];
  @ApiProperty(MESSAGES) rejected!: object[];
}

export class OpenAiDpoInputDto extends ExportedDto {
  @ApiProperty(MESSAGES) messages!: object[];
  @ApiPropertyOptional({ type: 'boolean', enum: [true] }) parallel_tool_calls?: true;
}

/** A line of `openai-dpo`. */
export class OpenAiDpoExportDto {
  input!: OpenAiDpoInputDto;
  @ApiProperty(MESSAGES) preferred_output!: object[];
  @ApiProperty(MESSAGES) non_preferred_output!: object[];
}

/** A line of `trl-kto`: one turn of the assistant. */
export class KtoExportDto extends CompletionExportDto {
  label!: boolean;
}

export class TinkerComparisonDto {
  @ApiProperty(MESSAGES) prompt_conversation!: object[];
  @ApiProperty(MESSAGES) completion_A!: object[];
  @ApiProperty(MESSAGES) completion_B!: object[];
}

/** A line of `tinker-preference`: completion A is the better one. */
export class TinkerExportDto {
  comparison!: TinkerComparisonDto;
  @ApiProperty({ type: 'string', enum: ['A'] }) label!: 'A';
}

/** A line of `verifiers`: a trace of the verifiers library, version 1. It has more members of that schema. */
export class VerifiersExportDto {
  version!: number;
  id!: string;
  @ApiProperty({ type: 'object', ...OBJECT }) task!: object;
  @ApiProperty({ type: 'array', items: { type: 'object', ...OBJECT } }) nodes!: object[];
  @ApiProperty({ type: 'object', ...OBJECT }) rewards!: object;
}

/** A line of `prompts`. */
export class PromptExportDto extends ExportedDto {
  @ApiProperty(MESSAGES) prompt!: object[];
  group_key!: string;
}
