import { IsInt, IsOptional, IsUUID, Matches, Max, Min } from 'class-validator';
import { PROJECT_PART, PROJECT_PART_RULE } from '../platform/http/dto.js';

/** Validates the entity or the project of `<entity>/<project>`. */
export const IsProjectPart = () =>
  Matches(new RegExp(`^${PROJECT_PART}$`), {
    message: `must ${PROJECT_PART_RULE}`,
  });

/** A request for a page. `after` is the id of the last item of the page before. */
export class PageQueryDto {
  @IsOptional() @IsUUID() after?: string;
  @IsOptional() @IsInt() @Min(1) @Max(100) limit?: number;
}

export class ProjectPageQueryDto extends PageQueryDto {
  @IsOptional() @IsProjectPart() entity?: string;
  @IsOptional() @IsProjectPart() project?: string;
}

export class TrainingJobCreatedDto {
  id!: string;
}
