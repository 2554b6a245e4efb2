import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsInt,
  IsObject,
  IsOptional,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import {
  IsJsonObject,
  IsProjectId,
  IsText,
  IsTextList,
  MAX_INT,
  MaxItems,
  PageDto,
  SortBy,
} from '../../../platform/http/dto.js';
import type { Sort } from '../../../platform/query/columns.js';
import { ROW_DIGEST } from './row-digests.js';

const MAX_LISTED = 1000;
/** Rows of a table. The size of a request body is a further limit. */
export const MAX_ROWS = 2_000_000;

export class TableDto {
  @IsProjectId() project_id!: string;
  /** JSON objects. Stored as sent, but equal rows of a project are stored once. */
  @IsArray()
  @MaxItems(MAX_ROWS)
  @IsObject({ each: true, message: 'must be a JSON object' })
  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: true } })
  rows!: object[];
  /** The digest of the table that the client expects; another digest is refused with 409. */
  @IsOptional() @IsText(256) expected_digest?: string | null;
}

export class TableCreateDto {
  @ValidateNested() @Type(() => TableDto) table!: TableDto;
}

export class TableCreatedDto {
  digest!: string;
  row_digests!: string[];
}

export class TableFromDigestsDto {
  @IsProjectId() project_id!: string;
  /** Digests of rows that the project has, in the order of the table. */
  @IsArray()
  @MaxItems(MAX_ROWS)
  @Matches(ROW_DIGEST, { each: true, message: 'must have 43 letters and digits' })
  @ApiProperty({ type: 'array', items: { type: 'string', pattern: ROW_DIGEST.source } })
  row_digests!: string[];
  @IsOptional() @IsText(256) expected_digest?: string | null;
}

export class TableDigestDto {
  digest!: string;
}

export class AppendDto {
  @IsJsonObject() row!: object;
}

export class PopDto {
  @IsInt() @Min(0) @Max(MAX_INT) index!: number;
}

export class InsertDto {
  @IsInt() @Min(0) @Max(MAX_INT) index!: number;
  @IsJsonObject() row!: object;
}

/** Exactly one of the three members. */
export class TableUpdateItemDto {
  @IsOptional() @ValidateNested() @Type(() => AppendDto) append?: AppendDto | null;
  @IsOptional() @ValidateNested() @Type(() => PopDto) pop?: PopDto | null;
  /** The row is inserted at the index. */
  @IsOptional() @ValidateNested() @Type(() => InsertDto) insert?: InsertDto | null;
}

export class TableUpdateDto {
  @IsProjectId() project_id!: string;
  @IsText(256) base_digest!: string;
  /** Applied one after the other, each to the result of the previous one. */
  @IsArray()
  @MaxItems(MAX_ROWS)
  @ValidateNested({ each: true })
  @Type(() => TableUpdateItemDto)
  updates!: TableUpdateItemDto[];
}

export class TableUpdatedDto {
  digest!: string;
  /** The digest of the added or removed row of each update. */
  updated_row_digests!: string[];
}

export class TableFilterDto {
  /** An empty list does not restrict. */
  @IsOptional()
  @IsTextList(MAX_LISTED, 256)
  row_digests?: string[] | null;
}

export class TableQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  @IsText(256) digest!: string;
  @IsOptional() @ValidateNested() @Type(() => TableFilterDto) filter?: TableFilterDto | null;
  /** An expression tree over `val`, the row, and paths into it: docs/query-language.md. */
  @IsOptional() @IsJsonObject() query?: object | null;
  /** Any field of the rows: `model.name`, `scores.0`. */
  @SortBy() sort_by?: Sort[] | null;
}

export class TableRowDto {
  digest!: string;
  /** Free-form, as it was sent. */
  @ApiProperty({ type: 'object', additionalProperties: true }) val!: object;
  @ApiProperty({ type: 'integer' }) original_index!: number;
}

export class TableRowsDto {
  @ApiProperty({ type: [TableRowDto] }) rows!: TableRowDto[];
}

export class TableStatsQueryDto {
  @IsProjectId() project_id!: string;
  @IsText(256) digest!: string;
  /** Counts the rows that match, as in `/table/query`. */
  @IsOptional() @IsJsonObject() query?: object | null;
}

export class TableStatsDto {
  count!: number;
}

export class TablesStatsQueryDto {
  @IsProjectId() project_id!: string;
  @IsOptional()
  @IsTextList(MAX_LISTED, 256)
  digests?: string[] | null;
  @IsOptional() @IsBoolean() include_storage_size?: boolean | null;
}

export class TablesStatsItemDto {
  count!: number;
  digest!: string;
  /** Bytes of the JSON texts of all rows, where repeated rows count each time. Null unless requested. */
  @ApiProperty({ type: 'integer', nullable: true }) storage_size_bytes!: number | null;
}

export class TablesStatsDto {
  /** The tables that exist, in no particular order. */
  @ApiProperty({ type: [TablesStatsItemDto] }) tables!: TablesStatsItemDto[];
}
