import { IsProjectId } from '../http/dto.js';

export class EventsQueryDto {
  @IsProjectId() project_id!: string;
}
