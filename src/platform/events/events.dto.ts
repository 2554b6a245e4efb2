import { ApiProperty } from '@nestjs/swagger';
import { type ChangeKind, KINDS } from '../database/changes.js';
import { IsProjectId } from '../http/dto.js';

export class EventsQueryDto {
  @IsProjectId() project_id!: string;
}

/** The data of a `tick`. */
export class TickDto {
  @ApiProperty({ enum: KINDS, isArray: true }) kinds!: ChangeKind[];
}
