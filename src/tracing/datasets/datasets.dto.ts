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
import { COLUMN_TYPES, type ColumnType } from './row-mapping.js';
import type { ListPosition } from '../../platform/query/keyset.js';

/** Calls of one request. */
export const MAX_CALLS = 1000;
/** Rows of a dataset that can be changed, since all row digests are read and hashed, 43 bytes each. */
export const MAX_DATASET_ROWS = 100_000;
const MAX_REMOVED = 10_000;
const MAX_ASKED = 1000;
const MAX_PARTS = 10;
const MAX_PATH = 1000;
/** A longer mapping does not fit into the address of a request. */
const MAX_MAPPING = 16_384;
const IMPORT_MODES = ['append', 'replace'] as const;

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
  /** The name of the dataset. It is created when it does not exist. */
  @IsObjectId() object_id!: string;
  /** The description of a new dataset. */
  @IsOptional() @IsText(16_384) description?: string | null;
  /** One row for each call, in this order. */
  @IsOptional() @IsIdList(MAX_CALLS) call_ids?: string[] | null;
  /** A filter of `/calls/query`. One row for each call, the oldest first. */
  @IsOptional() @IsJsonObject() filter?: object | null;
  /** An expression tree, as in `/calls/query`. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** The most calls to take from `filter` and `query`. When absent and more than 1000 match, the request is refused. */
  @IsOptional() @IsInt() @Min(1) @Max(MAX_CALLS) limit?: number | null;
  /**
   * The columns of a row, each with its path in the call: `inputs.prompt`, `output.choices[0].message.content`,
   * `feedback.[<type>].payload.value` (of the latest feedback). Missing values are null.
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
  /** Number of rows in the version. */
  @ApiProperty({ type: 'integer' }) num_rows!: number;
}

export class DatasetAddedDto extends DatasetVersionDto {
  @ApiProperty({ type: 'integer' }) added!: number;
  /** Calls whose row existed before, or occurs twice in the request. Their sources are recorded too. */
  @ApiProperty({ type: 'integer' }) duplicates!: number;
  /** Calls that do not exist. */
  @ApiProperty({ type: 'integer' }) missing!: number;
}

const DELIMITERS = [',', ';', '|', 'tab'] as const;

export class DatasetFileDto {
  @IsProjectId() project_id!: string;
  /** Separates the fields of CSV. A comma when absent. */
  @IsOptional() @IsIn(DELIMITERS) delimiter?: (typeof DELIMITERS)[number];
  /**
   * JSON: which column becomes which member of a row, `{"<column>": "<path>"}`, or
   * `{"<column>": {"path": "<path>", "type": "number"}}`, or null for a column that is left out. Types are `text`,
   * `number`, `boolean` and `json`. Other columns keep their names. Fields of CSV are texts unless a type is given;
   * values of JSON lines stay as they are.
   */
  @IsOptional() @IsText(MAX_MAPPING) mapping?: string;
}

export class DatasetImportDto extends DatasetFileDto {
  /** The name of the dataset. It is created when it does not exist. */
  @IsObjectId() object_id!: string;
  /** The description of a new dataset. */
  @IsOptional() @IsText(16_384) description?: string;
  /** `append` adds the rows of the file that are new. `replace` makes a version with the rows of the file alone. */
  @IsOptional() @IsIn(IMPORT_MODES) mode?: (typeof IMPORT_MODES)[number];
}

export class DatasetImportPreviewDto extends DatasetFileDto {
  /** `true` when the body is only the first part of a file, so that its last row may be incomplete. */
  @IsOptional() @IsIn(['true', 'false']) partial?: 'true' | 'false';
}

export class DatasetImportedDto extends DatasetVersionDto {
  @ApiProperty({ type: 'integer' }) added!: number;
  /** Rows of the file that the dataset had before, or that occur twice in the file. */
  @ApiProperty({ type: 'integer' }) duplicates!: number;
}

export class FileColumnDto {
  /** The name in the header, or of a member of JSON lines. */
  name!: string;
  /** The path in the row. Null for a column that is left out. */
  @ApiProperty({ type: 'string', nullable: true }) path!: string | null;
  /** Null for values of JSON lines that stay as they are. */
  @ApiProperty({ type: 'string', nullable: true, enum: [...COLUMN_TYPES, null] })
  type!: ColumnType | null;
}

export class FileErrorDto {
  path!: string;
  message!: string;
  /** The line on which the row begins, counted from 1. */
  @ApiProperty({ type: 'integer' }) line!: number;
  /** The column. */
  field?: string;
}

export class DatasetImportPreviewAnswerDto {
  /** At most 1,000. */
  @ApiProperty({ type: [FileColumnDto] }) columns!: FileColumnDto[];
  /** Rows without errors in what was sent. */
  @ApiProperty({ type: 'integer' }) num_rows!: number;
  /** The first 100 errors. */
  @ApiProperty({ type: [FileErrorDto] }) errors!: FileErrorDto[];
  @ApiProperty({ type: 'integer' }) num_errors!: number;
  /** The first 20 rows as they would be stored, at most 1 MiB. */
  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: true } })
  rows!: object[];
}

export class DatasetRemoveDto {
  @IsProjectId() project_id!: string;
  @IsObjectId() object_id!: string;
  @IsArray() @MaxItems(MAX_REMOVED) @IsRowDigests() row_digests!: string[];
}

export class DatasetRemovedDto extends DatasetVersionDto {
  @ApiProperty({ type: 'integer' }) removed!: number;
  /** Digests without a row in the dataset. */
  @ApiProperty({ type: 'integer' }) missing!: number;
}

export class DatasetPartDto {
  /** The name of the dataset that the part becomes, or of which it becomes a new version. */
  @IsObjectId() object_id!: string;
  @IsNumber() @Min(0.0001) @Max(1) fraction!: number;
}

const GROUPS = ['row', 'trace', 'thread'] as const;

export class DatasetSplitDto {
  @IsProjectId() project_id!: string;
  @IsObjectId() object_id!: string;
  /** A version, as in `/obj/read`; the latest when absent. */
  @IsOptional() @IsText(256) digest?: string | null;
  /** One seed always puts a row into the same part, even after rows were added. Empty when absent. */
  @IsOptional() @IsText(256) seed?: string | null;
  /** The fractions must add up to 1. */
  @IsArray()
  @ArrayMinSize(2)
  @ArrayMaxSize(MAX_PARTS)
  @ValidateNested({ each: true })
  @Type(() => DatasetPartDto)
  parts!: DatasetPartDto[];
  /** Rows that stay together: those of calls of one trace, or of one thread. Single rows when absent. */
  @IsOptional() @IsIn(GROUPS) group_by?: (typeof GROUPS)[number] | null;
  /** Replaces `group_by`. Rows with the same value at this path stay together, such as `customer.id`. */
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
  /**
   * True selects rows that should be removed, since a call that they were built from is gone. False selects the others.
   */
  @IsOptional() @IsBoolean() erased?: boolean | null;
  /** `object_id`, `row_digest` and `call_id` of the last line that was read. */
  @IsAfter() after?: ListPosition | null;
}

/** A row of a dataset, with a call from which it was built. */
export class DatasetSourceDto {
  object_id!: string;
  row_digest!: string;
  call_id!: string;
  trace_id!: string;
  thread_id!: string | null;
  @IsDateTime() added_at!: string;
  added_by!: string;
  /** When the row was removed from the dataset. */
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) removed_at!: string | null;
  /** True when the call was deleted or erased later, or lost its payload. */
  erased!: boolean;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) erased_at!: string | null;
}

export class DatasetLineageDto {
  @ApiProperty({ type: [DatasetSourceDto] }) rows!: DatasetSourceDto[];
}
