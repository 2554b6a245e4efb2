import { ApiProperty } from '@nestjs/swagger';
import { IsArray } from 'class-validator';
import { MaxItems } from '../../platform/http/dto.js';

export const MAX_EVENTS = 10_000;

/** Events, each of which is judged by itself. */
export class IngestionDto {
  @IsArray()
  @MaxItems(MAX_EVENTS)
  @ApiProperty({ type: 'array', maxItems: MAX_EVENTS, items: { type: 'object' } })
  batch!: unknown[];
}

export class IngestionAnswerDto {
  @ApiProperty({ type: 'array', items: { type: 'object', example: { id: 'e1', status: 201 } } })
  successes!: object[];
  @ApiProperty({
    type: 'array',
    items: { type: 'object', example: { id: 'e2', status: 400, message: 'body.id is required' } },
  })
  errors!: object[];
}
