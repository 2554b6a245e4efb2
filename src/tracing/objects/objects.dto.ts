import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsBoolean, IsOptional, IsString, Matches, ValidateNested } from 'class-validator';
import {
  ANY_JSON,
  AnyJson,
  IsAfter,
  IsProjectId,
  IsText,
  IsTextList,
  PageDto,
  SortBy,
} from '../../platform/http/dto.js';
import type { ListPosition } from '../../platform/query/keyset.js';
import type { Sort } from '../../platform/query/columns.js';

const MAX_LISTED = 1000;
const MAX_DELETED = 100;
const MAX_REFS = 1000;

const OBJECT_ID = /^[\w.-]{1,128}$/;

const IsTexts = () => IsTextList(MAX_LISTED, 256);

/** The request that publishes a new version of an object under a name. */
export class ObjectCreateDto {
  @IsProjectId() project_id!: string;
  @IsString()
  @Matches(OBJECT_ID, { message: 'must have 1 to 128 letters, digits, "_", "." or "-"' })
  @ApiProperty({ pattern: OBJECT_ID.source })
  object_id!: string;
  /** Any JSON value. Stored as sent. */
  @AnyJson() @ApiProperty(ANY_JSON) val!: unknown;
  /** The digest of `val` that the client expects; another digest is refused with 409. */
  @IsOptional() @IsText(256) expected_digest?: string | null;
}

export class ObjectCreateBodyDto {
  @ValidateNested() @Type(() => ObjectCreateDto) obj!: ObjectCreateDto;
}

export class ObjectCreatedDto {
  digest!: string;
  object_id!: string;
  version_index!: number;
}

export class ObjectReadDto {
  @IsProjectId() project_id!: string;
  @IsText(256) object_id!: string;
  /** The digest of the version, `v<version_index>`, `latest`, or an alias. */
  @IsText(256) digest!: string;
  /** Leaves out the value; `val` is `{}` then. */
  @IsOptional() @IsBoolean() metadata_only?: boolean | null;
  /** Adds `tags` and `aliases`; the latest version also has the alias `latest`. */
  @IsOptional() @IsBoolean() include_tags_and_aliases?: boolean | null;
}

export class ObjectDeleteDto {
  @IsProjectId() project_id!: string;
  @IsText(256) object_id!: string;
  /** Versions, as in `/obj/read`; all of them when absent. */
  @IsOptional()
  @IsTextList(MAX_DELETED, 256)
  digests?: string[] | null;
}

/** Like `ObjectDeleteDto`, but versions that were deleted before are included. */
export class ObjectsPurgeDto extends ObjectDeleteDto {}

export class ObjectsDeletedDto {
  num_deleted!: number;
}

/** An empty list does not restrict. */
export class ObjectsFilterDto {
  @IsOptional() @IsTexts() object_ids?: string[] | null;
  /** A part of the name, in any case. */
  @IsOptional() @IsText(128) object_id_contains?: string | null;
  @IsOptional() @IsBoolean() latest_only?: boolean | null;
  /** True for ops only, false for everything else. */
  @IsOptional() @IsBoolean() is_op?: boolean | null;
  @IsOptional() @IsTexts() base_object_classes?: string[] | null;
  @IsOptional() @IsTexts() exclude_base_object_classes?: string[] | null;
  @IsOptional() @IsTexts() leaf_object_classes?: string[] | null;
  /** Versions with one of these tags. */
  @IsOptional() @IsTexts() tags?: string[] | null;
  /** Versions with one of these aliases; `latest` is one. */
  @IsOptional() @IsTexts() aliases?: string[] | null;
}

export class ObjectsQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @ValidateNested() @Type(() => ObjectsFilterDto) filter?: ObjectsFilterDto | null;
  @SortBy(['object_id', 'created_at']) sort_by?: Sort<'object_id' | 'created_at'>[] | null;
  /**
   * Returns the versions after this one; replaces `offset`. It has the values of the fields in `sort_by` (`created_at`
   * without it) and the `version_index`, plus the `object_id` if `sort_by` does not include it.
   */
  @IsAfter() after?: ListPosition | null;
  /** Leaves out the values; `val` is `{}` then. */
  @IsOptional() @IsBoolean() metadata_only?: boolean | null;
  /** Adds `size_bytes`, the length of the stored JSON text of `val`. */
  @IsOptional() @IsBoolean() include_storage_size?: boolean | null;
  /** Adds `tags` and `aliases`; the latest version also has the alias `latest`. */
  @IsOptional() @IsBoolean() include_tags_and_aliases?: boolean | null;
}

/** A version in an answer. */
export class ObjectVersionDto {
  project_id!: string;
  object_id!: string;
  @ApiProperty({ type: 'string', format: 'date-time' }) created_at!: string;
  digest!: string;
  @ApiProperty({ type: 'integer' }) version_index!: number;
  @ApiProperty({ type: 'integer', enum: [0, 1] }) is_latest!: number;
  @ApiProperty({ enum: ['object', 'op'] }) kind!: string;
  @ApiProperty({ type: 'string', nullable: true }) base_object_class!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) leaf_object_class!: string | null;
  /** Any JSON value, as it was sent. */
  @ApiProperty(ANY_JSON) val!: unknown;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) deleted_at!: string | null;
  svc_user_id!: string | null;
  @ApiProperty({ type: 'integer', required: false }) size_bytes?: number;
  tags?: string[];
  aliases?: string[];
}

export class ObjectAnswerDto {
  obj!: ObjectVersionDto;
}

export class ObjectsAnswerDto {
  @ApiProperty({ type: [ObjectVersionDto] }) objs!: ObjectVersionDto[];
}

export class RefsReadDto {
  /** Refs of objects and ops, each with or without a path into the value. */
  @IsTextList(MAX_REFS, 4096) refs!: string[];
}

export class RefsAnswerDto {
  /** In the order of the refs. Null for a deleted version, and for a path without a value. */
  @ApiProperty({ type: 'array', items: { ...ANY_JSON, description: 'Any JSON value.' } })
  vals!: unknown[];
}
