import { ApiProperty } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsOptional } from 'class-validator';
import { ANY_JSON, AnyJson, IsText } from '../../platform/http/dto.js';

/** Maximum length of a model name, which may be `wandb-artifact:///<entity>/<project>/<name>:step<N>`. */
export const MAX_MODEL = 1024;

export class AskDto {
  /** `<model>`, `<model>:step<N>`, `wandb-artifact:///…`, or a model of a provider. */
  @IsText(MAX_MODEL, { min: 1 }) model!: string;
  @IsOptional() @IsBoolean() stream?: boolean | null;
}

/** A request in the shape of OpenAI's API. Members that are not listed are sent to the provider too. */
export class ChatDto extends AskDto {
  /** In the provider's format. */
  @AnyJson() @ApiProperty(ANY_JSON) messages!: unknown;
}

export class CompletionDto extends AskDto {
  /** In the provider's format. */
  @AnyJson() @ApiProperty(ANY_JSON) prompt!: unknown;
}

export class ResponseDto extends AskDto {
  /** In the provider's format. */
  @IsOptional() @AnyJson() @ApiProperty({ ...ANY_JSON, required: false }) input?: unknown;
  /** Background responses are not supported, because a later answer could not be fetched here. */
  @IsOptional() @IsIn([false]) background?: false | null;
}

export class GatewayModelDto {
  /** The name to request. A name that ends with `*` stands for all models of the provider that begin with it. */
  id!: string;
  /** Always `model`. */
  object!: string;
  /** When the model was created, in seconds since 1970; 0 for a model of a provider. */
  created!: number;
  /** The project of a checkpoint, otherwise the provider. */
  owned_by!: string;
}

export class GatewayModelsDto {
  /** Always `list`. */
  object!: string;
  data!: GatewayModelDto[];
}
