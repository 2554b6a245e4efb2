import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { jsonArray } from '../../../platform/http/json-rows.js';
import { memberElements, valueAt } from '../../../platform/json/json-text.js';
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

/** Memory of each row: its text, its digest as text and bytes, and its entry in the map of distinct rows. */
const ROW_BYTES = 300;
/** Memory of each digest of a stored row: the array for PostgreSQL, and the joined bytes. */
const DIGEST_BYTES = 200;

// No Idempotency-Key: tables and rows are identified by their contents, so a repeated request stores nothing new.
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
    return this.tables.create(table, memberElements(valueAt(text, 'table'), 'rows'), caller);
  }

  /** Stores the table that results from updates of another table, which stays unchanged. */
  @Operation('update', 'writer')
  async updateTable(
    @Body() body: TableUpdateDto,
    @Ctx() { text, caller, hold }: Context,
  ): Promise<TableUpdatedDto> {
    await hold.add(body.updates.length * ROW_BYTES);
    return this.tables.update(body, memberElements(text, 'updates'), caller);
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

  /** Reads the rows of a table, in the order of the table unless sorted. Empty when the table does not exist. */
  @Operation('query', 'reader')
  @ApiOkResponse({ type: TableRowsDto })
  async queryTable(@Body() query: TableQueryDto, @Ctx() context: Context): Promise<StreamableFile> {
    return jsonArray(await this.tables.stream(query), context, 'rows');
  }

  /** Counts the rows of a table. 0 when the table does not exist. */
  @Operation('query_stats', 'reader')
  tableStats(
    @Body() query: TableStatsQueryDto,
    @Ctx() { signal }: Context,
  ): Promise<TableStatsDto> {
    return this.tables.stats(query, signal);
  }

  /** Counts the rows of several tables. */
  @Operation('query_stats_batch', 'reader')
  tablesStats(@Body() query: TablesStatsQueryDto): Promise<TablesStatsDto> {
    return this.tables.statsBatch(query);
  }
}
