import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsOptional } from 'class-validator';
import { ANY_JSON, AnyJson, IsText } from '../../platform/http/dto.js';

/** The name of a model, also one such as `wandb-artifact:///<entity>/<project>/<name>:step<N>`. */
export const MAX_MODEL = 1024;

export class AskDto {
  /** `<model>`, `<model>:step<N>`, `wandb-artifact:///…`, or a model of a provider. */
  @IsText(MAX_MODEL, { min: 1 }) model!: string;
  @IsOptional() @IsBoolean() stream?: boolean | null;
}

/** A request of OpenAI's; members that are not listed go to the provider as well. */
export class ChatDto extends AskDto {
  /** As the provider reads them. */
  @AnyJson() @ApiProperty(ANY_JSON) messages!: unknown;
}

/** A request of OpenAI's; members that are not listed go to the provider as well. */
export class CompletionDto extends AskDto {
  /** As the provider reads it. */
  @AnyJson() @ApiProperty(ANY_JSON) prompt!: unknown;
}

/** A request of OpenAI's; members that are not listed go to the provider as well. */
export class ResponseDto extends AskDto {
  /** As the provider reads it. */
  @IsOptional() @AnyJson() @ApiProperty({ ...ANY_JSON, required: false }) input?: unknown;
  /** An answer that comes later could not be fetched here. */
  @IsOptional() @IsIn([false]) background?: false | null;
}

export class GatewayModelDto {
  /** The name to ask for; of a provider also the beginning of names, with a star behind it. */
  id!: string;
  /** Always `model`. */
  object!: string;
  /** When the model was made, in seconds since 1970; 0 of a provider's model. */
  created!: number;
  /** The project of a checkpoint, else the provider. */
  owned_by!: string;
}

export class GatewayModelsDto {
  /** Always `list`. */
  object!: string;
  data!: GatewayModelDto[];
}
