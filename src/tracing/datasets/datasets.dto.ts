import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import {
  IsAfter,
  IsDateTime,
  IsIdList,
  IsJsonObject,
  IsProjectId,
  IsText,
  MaxItems,
  PageDto,
} from '../../platform/http/dto.js';
import type { ListPosition } from '../../platform/query/keyset.js';

/** Calls of one request. */
export const MAX_CALLS = 1000;
/** Rows of a dataset that is changed here: the digests of all of them are read and hashed, 43 bytes each. */
export const MAX_DATASET_ROWS = 100_000;
const MAX_REMOVED = 10_000;
const MAX_ASKED = 1000;
const MAX_PARTS = 10;
const MAX_PATH = 1000;

const OBJECT_ID = /^[\w.-]{1,128}$/;
const IsObjectId = () =>
  applyDecorators(
    IsString(),
    Matches(OBJECT_ID, { message: 'must have 1 to 128 letters, digits, "_", "." or "-"' }),
    ApiProperty({ pattern: OBJECT_ID.source }),
  );

const DIGEST = /^[A-Za-z0-9]{43}$/;
const IsRowDigests = () =>
  applyDecorators(
    Matches(DIGEST, { each: true, message: 'must have 43 letters and digits' }),
    ApiProperty({ type: 'array', items: { type: 'string', pattern: DIGEST.source } }),
  );

/** Either `call_ids`, or `filter` and `query`. */
export class DatasetAddDto {
  @IsProjectId() project_id!: string;
  /** The name of the dataset. It is made when there is none. */
  @IsObjectId() object_id!: string;
  /** Of a new dataset. */
  @IsOptional() @IsText(16_384) description?: string | null;
  /** A row for each, in this order. */
  @IsOptional() @IsIdList(MAX_CALLS) call_ids?: string[] | null;
  /** As in `/calls/query`; a row for each call, the oldest first. */
  @IsOptional() @IsJsonObject() filter?: object | null;
  /** As in `/calls/query`. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** How many calls of `filter` and `query` to take. When more match and there is no limit, the request is refused. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_CALLS) limit?: number | null;
  /**
   * The columns of a row, by name, and where each is in the call: `inputs.prompt`, `output.choices[0].message.content`,
   * `feedback.[<type>].payload.value` (of the latest one). What is not there is null.
   */
  @IsJsonObject()
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' } })
  columns!: Record<string, unknown>;
}

/** A version of a dataset. */
export class DatasetVersionDto {
  object_id!: string;
  digest!: string;
  @ApiProperty({ type: 'integer' }) version_index!: number;
  ref!: string;
  /** Rows that it has. */
  @ApiProperty({ type: 'integer' }) num_rows!: number;
}

export class DatasetAddedDto extends DatasetVersionDto {
  @ApiProperty({ type: 'integer' }) added!: number;
  /** Calls whose row was there before, or stands twice in the request. Where they come from is noted all the same. */
  @ApiProperty({ type: 'integer' }) duplicates!: number;
  /** Calls that are not there. */
  @ApiProperty({ type: 'integer' }) missing!: number;
}

export class DatasetRemoveDto {
  @IsProjectId() project_id!: string;
  @IsObjectId() object_id!: string;
  @IsArray() @MaxItems(MAX_REMOVED) @IsRowDigests() row_digests!: string[];
}

export class DatasetRemovedDto extends DatasetVersionDto {
  @ApiProperty({ type: 'integer' }) removed!: number;
  /** Digests that the dataset has no row of. */
  @ApiProperty({ type: 'integer' }) missing!: number;
}

export class DatasetPartDto {
  /** The name of the dataset that the part becomes, or a new version of it. */
  @IsObjectId() object_id!: string;
  @IsNumber() @Min(0.0001) @Max(1) fraction!: number;
}

const GROUPS = ['row', 'trace', 'thread'] as const;

export class DatasetSplitDto {
  @IsProjectId() project_id!: string;
  @IsObjectId() object_id!: string;
  /** A version as in `/obj/read`; the latest when absent. */
  @IsOptional() @IsText(256) digest?: string | null;
  /** The same seed puts a row into the same part, also when rows have come since. Empty when absent. */
  @IsOptional() @IsText(256) seed?: string | null;
  /** Their fractions are 1 together. */
  @IsArray()
  @ArrayMinSize(2)
  @ArrayMaxSize(MAX_PARTS)
  @ValidateNested({ each: true })
  @Type(() => DatasetPartDto)
  parts!: DatasetPartDto[];
  /** What stays together: rows of calls of one trace, or of one thread. A row when absent. */
  @IsOptional() @IsIn(GROUPS) group_by?: (typeof GROUPS)[number] | null;
  /** In place of `group_by`: rows that have the same value there stay together, such as `customer.id`. */
  @IsOptional() @IsText(MAX_PATH, { min: 1 }) group_path?: string | null;
}

export class DatasetSplitAnswerDto {
  /** In the order of the request. */
  @ApiProperty({ type: [DatasetVersionDto] }) parts!: DatasetVersionDto[];
}

export class DatasetLineageQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  @IsOptional() @IsText(256) object_id?: string | null;
  @IsOptional() @ArrayNotEmpty() @IsIdList(MAX_ASKED) call_ids?: string[] | null;
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_ASKED)
  @IsRowDigests()
  row_digests?: string[] | null;
  /** True: only rows that are to be removed, since a call that they were made from is gone. False: only the others. */
  @IsOptional() @IsBoolean() erased?: boolean | null;
  /** `object_id`, `row_digest` and `call_id` of the last line that the caller has. */
  @IsAfter() after?: ListPosition | null;
}

/** A row of a dataset, and a call that it was made from. */
export class DatasetSourceDto {
  object_id!: string;
  row_digest!: string;
  call_id!: string;
  trace_id!: string;
  thread_id!: string | null;
  @IsDateTime() added_at!: string;
  added_by!: string;
  /** When the row was taken out of the dataset. */
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) removed_at!: string | null;
  /** Whether the call was deleted or erased since, or lost its payload. */
  erased!: boolean;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) erased_at!: string | null;
}

export class DatasetLineageDto {
  @ApiProperty({ type: [DatasetSourceDto] }) rows!: DatasetSourceDto[];
}
