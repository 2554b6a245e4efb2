import { IsOptional } from 'class-validator';
import { IsJsonObject, IsText } from '../../platform/http/dto.js';

/** Long enough for every query of the schema, too short to make one that costs anything. */
const MAX_QUERY = 10_000;

export class GraphqlDto {
  @IsText(MAX_QUERY) query!: string;
  @IsOptional() @IsJsonObject() variables?: object | null;
  @IsOptional() @IsText(MAX_QUERY) operationName?: string | null;
}
