import { ApiProperty } from '@nestjs/swagger';
import { IsArray } from 'class-validator';
import { MaxItems } from '../../platform/http/dto.js';

export const MAX_EVENTS = 10_000;

/** Events, each of which is accepted or refused on its own. */
export class IngestionDto {
  @IsArray()
  @MaxItems(MAX_EVENTS)
  @ApiProperty({ type: 'array', maxItems: MAX_EVENTS, items: { type: 'object' } })
  batch!: unknown[];
}

export class EventStoredDto {
  /** The id of the event; empty if it has none. */
  id!: string;
  @ApiProperty({ type: 'integer', enum: [201] }) status!: number;
}

export class EventRefusedDto {
  /** The id of the event; empty if it has none. */
  id!: string;
  @ApiProperty({ type: 'integer', example: 400 }) status!: number;
  message!: string;
  /** A code of docs/errors.md. */
  error!: string;
}

export class IngestionAnswerDto {
  successes!: EventStoredDto[];
  errors!: EventRefusedDto[];
}

export class ScoreStoredDto {
  id!: string;
}

export class ScoresStoredDto {
  message!: 'Accepted';
}

export class ScoreRefusedDto {
  message!: string;
}

export class ScoresRefusedDto {
  @ApiProperty({ type: 'integer' }) accepted!: number;
  @ApiProperty({ type: 'integer' }) rejected!: number;
  errors!: ScoreRefusedDto[];
}

export class OrganizationDto {
  id!: string;
  name!: string;
}

export class LangfuseProjectDto {
  id!: string;
  name!: string;
  @ApiProperty({ type: 'object', maxProperties: 0, additionalProperties: false }) metadata!: object;
  /** The entity of the project. */
  organization!: OrganizationDto;
  /** Always null. */
  @ApiProperty({ type: 'integer', nullable: true }) retentionDays!: null;
}

export class LangfuseProjectsDto {
  data!: LangfuseProjectDto[];
}

export class LangfuseHealthDto {
  status!: 'OK';
  version!: string;
}
