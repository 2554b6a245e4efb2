import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsUUID, Matches, Max, Min } from 'class-validator';
import { PROJECT_PART } from '../common/dto.js';

/** The entity or the project of `<entity>/<project>`. */
export const IsProjectPart = () =>
  Matches(new RegExp(`^${PROJECT_PART}$`), {
    message: 'must be 1 to 128 letters, digits, "_", "." or "-"',
  });

/** `after` is the exclusive id of the last item seen. */
export class PageQueryDto {
  @IsOptional() @IsUUID() after?: string;
  @IsOptional() @IsInt() @Min(1) @Max(100) limit?: number;
}

export class ProjectPageQueryDto extends PageQueryDto {
  @IsOptional() @IsProjectPart() entity?: string;
  @IsOptional() @IsProjectPart() project?: string;
}

/** What the service understands of a trajectory. Other fields are kept. */
export class TrajectoryDto {
  /** Chat messages, and whole choices (with the key `message`), in any order. */
  @ApiPropertyOptional({ type: 'array', items: { type: 'object' }, default: [] })
  messages_and_choices?: object[];
  /** Instead of the former: `chat_completions`, each with its `request` and the `response` whose `choices` are the trainable turns. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) exchanges?: object;
  @ApiPropertyOptional({ type: 'number', nullable: true, default: 0 }) reward?: number | null;
  @ApiPropertyOptional({ type: 'array', items: { type: 'object' }, nullable: true })
  tools?: object[] | null;
  /** `{messages_and_choices, tools}` each. */
  @ApiPropertyOptional({ type: 'array', items: { type: 'object' }, default: [] })
  additional_histories?: object[];
  /** Numbers or booleans. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, default: {} })
  metrics?: object;
  /** Scalars or null. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, default: {} })
  metadata?: object;
  @ApiPropertyOptional({ type: 'array', items: { type: 'string' }, default: [] }) logs?: string[];
  /** When absent: the time of receipt. */
  @ApiPropertyOptional({ type: 'string', format: 'date-time' }) start_time?: string;
}

export class TrajectoryGroupDto {
  @ApiPropertyOptional({ type: () => [TrajectoryDto] }) trajectories?: TrajectoryDto[];
  @ApiPropertyOptional({ type: 'array', items: { type: 'object' } }) exceptions?: object[];
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) metrics?: object;
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) metadata?: object;
  @ApiPropertyOptional({ type: 'array', items: { type: 'string' } }) logs?: string[];
}
