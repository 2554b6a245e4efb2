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
} from '../../platform/http/dto.js';
import type { Sort } from '../../platform/query/columns.js';
import { ROW_DIGEST } from './row-digests.js';

const MAX_LISTED = 1000;
/** Rows of a table; what a request brings is bounded by its body as well. */
export const MAX_ROWS = 2_000_000;

export class TableDto {
  @IsProjectId() project_id!: string;
  /** JSON objects. Kept as sent, save that equal rows of a project are stored once. */
  @IsArray()
  @MaxItems(MAX_ROWS)
  @IsObject({ each: true, message: 'must be a JSON object' })
  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: true } })
  rows!: object[];
  /** What the client takes for the digest of the table; another one is refused with 409. */
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
  /** Of rows that the project holds, in the order of the table. */
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

/** Exactly one of the three. */
export class TableUpdateItemDto {
  @IsOptional() @ValidateNested() @Type(() => AppendDto) append?: AppendDto | null;
  @IsOptional() @ValidateNested() @Type(() => PopDto) pop?: PopDto | null;
  /** The row comes to stand at the index. */
  @IsOptional() @ValidateNested() @Type(() => InsertDto) insert?: InsertDto | null;
}

export class TableUpdateDto {
  @IsProjectId() project_id!: string;
  @IsText(256) base_digest!: string;
  /** Done one after the other, each on what the one before left. */
  @IsArray()
  @MaxItems(MAX_ROWS)
  @ValidateNested({ each: true })
  @Type(() => TableUpdateItemDto)
  updates!: TableUpdateItemDto[];
}

export class TableUpdatedDto {
  digest!: string;
  /** For each update the row that came or went. */
  updated_row_digests!: string[];
}

export class TableFilterDto {
  /** An empty list is no restriction. */
  @IsOptional()
  @IsTextList(MAX_LISTED, 256)
  row_digests?: string[] | null;
}

export class TableQueryDto extends PageDto {
  @IsProjectId() project_id!: string;
  @IsText(256) digest!: string;
  @IsOptional() @ValidateNested() @Type(() => TableFilterDto) filter?: TableFilterDto | null;
  /** By any field of the rows: `model.name`, `scores.0`. */
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
  /** Bytes of the JSON texts of the rows, those that stand several times counted as often; null unless asked for. */
  @ApiProperty({ type: 'integer', nullable: true }) storage_size_bytes!: number | null;
}

export class TablesStatsDto {
  /** The tables that exist, in no particular order. */
  @ApiProperty({ type: [TablesStatsItemDto] }) tables!: TablesStatsItemDto[];
}
