import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonArray } from '../../platform/http/json-rows.js';
import { elementTexts, valueAt } from '../../platform/json/json-text.js';
import {
  TableCreatedDto,
  TableCreateDto,
  TableDigestDto,
  TableFromDigestsDto,
  TableQueryDto,
  TableRowsDto,
  TablesStatsDto,
  TablesStatsQueryDto,
  TableStatsDto,
  TableStatsQueryDto,
  TableUpdatedDto,
  TableUpdateDto,
} from './tables.dto.js';
import { TablesService } from './tables.service.js';

/** Memory for each row: its text, its digest as text and bytes, its place in the map of different rows. */
const ROW_BYTES = 300;
/** Memory for each digest of a row that is stored already: the array that PostgreSQL gets, and the joined bytes. */
const DIGEST_BYTES = 200;

// No Idempotency-Key: tables and rows are found by what they hold, so a repeated request stores nothing new.
@Resource('tables', BasicAuth(), 'table')
export class TablesController {
  constructor(private readonly tables: TablesService) {}

  /** Stores a table of JSON objects. */
  @Operation('create', 'writer')
  async createTable(
    @Body() { table }: TableCreateDto,
    @Ctx() { text, caller, hold }: Context,
  ): Promise<TableCreatedDto> {
    await hold.add(table.rows.length * ROW_BYTES);
    return this.tables.create(table, elementTexts(valueAt(text, 'table'), 'rows'), caller);
  }

  /** Stores the table that updates make of another one, which stays as it is. */
  @Operation('update', 'writer')
  async updateTable(
    @Body() body: TableUpdateDto,
    @Ctx() { text, caller, hold }: Context,
  ): Promise<TableUpdatedDto> {
    await hold.add(body.updates.length * ROW_BYTES);
    return this.tables.update(body, elementTexts(text, 'updates'), caller);
  }

  /** Stores a table of rows that are stored already. */
  @Operation('create_from_digests', 'writer')
  async createTableFromDigests(
    @Body() body: TableFromDigestsDto,
    @Ctx() { hold }: Context,
  ): Promise<TableDigestDto> {
    await hold.add(body.row_digests.length * DIGEST_BYTES);
    return this.tables.createFromDigests(body);
  }

  /** The rows of a table in its own order, unless sorted; none when there is no such table. */
  @Operation('query', 'reader')
  @ApiOkResponse({ type: TableRowsDto })
  async queryTable(@Body() query: TableQueryDto, @Ctx() context: Context): Promise<StreamableFile> {
    return jsonArray(await this.tables.stream(query), context, 'rows');
  }

  /** How many rows a table has; 0 when there is no such table. */
  @Operation('query_stats', 'reader')
  tableStats(@Body() query: TableStatsQueryDto): Promise<TableStatsDto> {
    return this.tables.stats(query);
  }

  /** How many rows each of several tables has. */
  @Operation('query_stats_batch', 'reader')
  tablesStats(@Body() query: TablesStatsQueryDto): Promise<TablesStatsDto> {
    return this.tables.statsBatch(query);
  }
}
