import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { IsJsonObject, IsText } from '../../../platform/http/dto.js';

/** Enough for every query of the schema, and too short for an expensive one. */
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

export class GraphqlErrorDto {
  message!: string;
  locations?: GraphqlLocationDto[];
  /** Path in `data` to the part that has no result. */
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
  /** The selected fields; any JSON. */
  @ApiPropertyOptional({ type: 'object', nullable: true, additionalProperties: true })
  data?: object | null;
  errors?: GraphqlErrorDto[];
}
