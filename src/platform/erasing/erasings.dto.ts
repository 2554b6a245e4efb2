import { ApiProperty } from '@nestjs/swagger';
import { IsStoredProjectId } from '../http/dto.js';

export class ProjectDeleteDto {
  @IsStoredProjectId() project_id!: string;
}

/** How far an erasing is. */
export class ErasedDto {
  erasing_id!: string;
  /** False while it goes on in the background. */
  is_done!: boolean;
  /** Rows erased so far, by the table they were in. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' } })
  num_erased!: Record<string, number>;
}
