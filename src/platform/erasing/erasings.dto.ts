import { ApiProperty } from '@nestjs/swagger';
import { IsStoredProjectId } from '../http/dto.js';

export class ProjectDeleteDto {
  @IsStoredProjectId() project_id!: string;
}

/** The progress of an erasing. */
export class ErasedDto {
  erasing_id!: string;
  /** False while it continues in the background. */
  is_done!: boolean;
  /** Rows erased so far, by table. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' } })
  num_erased!: Record<string, number>;
}
