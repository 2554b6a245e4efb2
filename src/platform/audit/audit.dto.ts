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

/** An empty list is no restriction. */
export class AuditFilterDto {
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_LISTED)
  @IsIn(ACTIONS, { each: true })
  @ApiProperty({ enum: ACTIONS, isArray: true, required: false })
  actions?: AuditAction[] | null;
  /** Ids of the keys that acted. */
  @IsTexts() key_ids?: string[] | null;
  /** Ids of the people who acted, in a session or by a key of theirs. */
  @IsTexts() user_ids?: string[] | null;
  /** Names of the users who acted. */
  @IsTexts() users?: string[] | null;
  /** What it was done to. */
  @IsTexts() targets?: string[] | null;
  /** Later than this. */
  @IsOptional() @IsDateTime() after?: string | null;
  /** Earlier than this. */
  @IsOptional() @IsDateTime() before?: string | null;
}

export class AuditQueryDto extends PageDto {
  /** When absent, events of everything within the key's scopes, those about keys included. */
  @IsOptional() @IsProjectId() project_id?: string | null;
  @IsOptional() @ValidateNested() @Type(() => AuditFilterDto) filter?: AuditFilterDto | null;
  /** By default the newest first. */
  @SortBy(['created_at']) sort_by?: Sort<'created_at'>[] | null;
}

export class AuditEventDto {
  id!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) created_at!: string;
  @ApiProperty({ enum: ACTIONS }) action!: AuditAction;
  @ApiProperty({ type: 'string', nullable: true }) project_id!: string | null;
  /** The key that acted; null for the command line and for the first start. */
  @ApiProperty({ type: 'string', nullable: true }) key_id!: string | null;
  /** The person who acted, in a session or by a key of theirs. */
  @ApiProperty({ type: 'string', nullable: true }) user_id!: string | null;
  /** Of the person, the key, or the operating system. */
  user!: string;
  /** The id or name of what it was done to. */
  @ApiProperty({ type: 'string', nullable: true }) target!: string | null;
  /** Counts and the like, by action. */
  @ApiProperty({ type: 'object', additionalProperties: true }) detail!: object;
}

export class AuditEventsDto {
  @ApiProperty({ type: [AuditEventDto] }) events!: AuditEventDto[];
}
