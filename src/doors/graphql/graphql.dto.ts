import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { IsJsonObject, IsText } from '../../platform/http/dto.js';

/** Long enough for every query of the schema, too short to make one that costs anything. */
const MAX_QUERY = 10_000;

export class GraphqlDto {
  @IsText(MAX_QUERY) query!: string;
  @IsOptional() @IsJsonObject() variables?: object | null;
  @IsOptional() @IsText(MAX_QUERY) operationName?: string | null;
}

export class GraphqlLocationDto {
  line!: number;
  column!: number;
}

/** Why a query, or a part of it, is not answered. */
export class GraphqlErrorDto {
  message!: string;
  locations?: GraphqlLocationDto[];
  /** Where in `data` the part would stand. */
  @ApiPropertyOptional({
    type: 'array',
    items: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
  })
  path?: (string | number)[];
  /** Free-form. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  extensions?: object;
}

export class GraphqlAnswerDto {
  /** What the query selects, by its names: any JSON. */
  @ApiPropertyOptional({ type: 'object', nullable: true, additionalProperties: true })
  data?: object | null;
  errors?: GraphqlErrorDto[];
}
