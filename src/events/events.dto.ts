import { IsProjectId } from '../common/dto.js';

export class EventsQueryDto {
  @IsProjectId() project_id!: string;
}
