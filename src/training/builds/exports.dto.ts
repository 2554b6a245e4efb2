import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { refTo } from '../trajectory-rules.js';

const MESSAGES = { type: 'array', items: refTo('ChatMessageDto') } as const;

/** What every line has. */
class ExportedDto {
  /** Free-form, as the call named them; absent where it named none. */
  @ApiPropertyOptional({ type: 'array', items: { description: 'Any JSON value.' } })
  tools?: unknown[];
}

/** A line of `openai-sft` and `trl-sft`. */
export class SftExportDto extends ExportedDto {
  @ApiProperty(MESSAGES) messages!: object[];
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

/** A line of `trl-kto`. */
export class KtoExportDto extends ExportedDto {
  @ApiProperty(MESSAGES) prompt!: object[];
  @ApiProperty(MESSAGES) completion!: object[];
  label!: boolean;
}

/** A line of `prompts`. */
export class PromptExportDto extends ExportedDto {
  @ApiProperty(MESSAGES) prompt!: object[];
  group_key!: string;
}
