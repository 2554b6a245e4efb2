import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsIn, IsOptional, ValidateNested } from 'class-validator';
import { IsDateTime, IsProjectId, IsTextList, PageDto, SortBy } from '../http/dto.js';
import type { Sort } from '../query/columns.js';
import { type AuditAction, ACTIONS } from './add-event.js';

const MAX_LISTED = 1000;

const IsTexts = () =>
  applyDecorators(IsOptional(), IsTextList(MAX_LISTED, 1024), ApiProperty({ required: false }));

/** An empty list does not restrict the events. */
export class AuditFilterDto {
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_LISTED)
  @IsIn(ACTIONS, { each: true })
  @ApiProperty({ enum: ACTIONS, isArray: true, required: false })
  actions?: AuditAction[] | null;
  /** Ids of the keys that acted. */
  @IsTexts() key_ids?: string[] | null;
  /** Ids of the people who acted, in a session or with a personal key. */
  @IsTexts() user_ids?: string[] | null;
  /** Names of the users who acted. */
  @IsTexts() users?: string[] | null;
  /** Ids or names of the changed items. */
  @IsTexts() targets?: string[] | null;
  /** Only events later than this time. */
  @IsOptional() @IsDateTime() after?: string | null;
  /** Only events earlier than this time. */
  @IsOptional() @IsDateTime() before?: string | null;
}

export class AuditQueryDto extends PageDto {
  /** When absent, all events within the key's scopes, including those about keys. */
  @IsOptional() @IsProjectId() project_id?: string | null;
  @IsOptional() @ValidateNested() @Type(() => AuditFilterDto) filter?: AuditFilterDto | null;
  /** Default: newest first. */
  @SortBy(['created_at']) sort_by?: Sort<'created_at'>[] | null;
}

export class AuditEventDto {
  id!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) created_at!: string;
  @ApiProperty({ enum: ACTIONS }) action!: AuditAction;
  @ApiProperty({ type: 'string', nullable: true }) project_id!: string | null;
  /** The key that acted; null for the command line and for the first start. */
  @ApiProperty({ type: 'string', nullable: true }) key_id!: string | null;
  /** The person who acted, in a session or with a personal key. */
  @ApiProperty({ type: 'string', nullable: true }) user_id!: string | null;
  /** Name of the person, the key's user, or the user of the operating system. */
  user!: string;
  /** Id or name of the changed item. */
  @ApiProperty({ type: 'string', nullable: true }) target!: string | null;
  /** Counts and other details, depending on the action. */
  @ApiProperty({ type: 'object', additionalProperties: true }) detail!: object;
}

export class AuditEventsDto {
  @ApiProperty({ type: [AuditEventDto] }) events!: AuditEventDto[];
}
