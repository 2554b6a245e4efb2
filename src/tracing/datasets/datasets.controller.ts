import { Body, Query, type StreamableFile } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { Idempotent, IdempotentInHandler } from '../../platform/auth/idempotency/idempotency.js';
import { ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonArray } from '../../platform/http/json-rows.js';
import { QueryPipe } from '../../platform/http/query.pipe.js';
import {
  DatasetAddDto,
  DatasetAddedDto,
  DatasetImportDto,
  DatasetImportedDto,
  DatasetImportPreviewAnswerDto,
  DatasetImportPreviewDto,
  DatasetLineageDto,
  DatasetLineageQueryDto,
  DatasetRemovedDto,
  DatasetRemoveDto,
  DatasetSplitAnswerDto,
  DatasetSplitDto,
} from './datasets.dto.js';
import { DatasetsService } from './datasets.service.js';
import { CSV, ImportsService, JSON_LINES } from './imports.service.js';

const FILE = { schema: { type: 'string', format: 'binary' } } as const;

@Resource('datasets', BasicAuth(), 'datasets')
export class DatasetsController {
  constructor(
    private readonly datasets: DatasetsService,
    private readonly imports: ImportsService,
  ) {}

  /** Builds a row from each call, adds rows that are new to the dataset, and publishes the result as a new version. */
  @Operation('add_from_calls', 'writer')
  @Idempotent()
  add(@Body() body: DatasetAddDto, @Ctx() { caller }: Context): Promise<DatasetAddedDto> {
    return this.datasets.add(body, caller);
  }

  /**
   * Publishes the rows of a file of CSV or JSON lines as a new version of a dataset. A file with a faulty line stores
   * nothing, and `errors` lists the faults by line.
   */
  @Operation('import', 'writer')
  @IdempotentInHandler()
  @ApiConsumes(CSV, ...JSON_LINES)
  @ApiBody(FILE)
  import(
    @Query(QueryPipe) query: DatasetImportDto,
    @Ctx() context: Context,
  ): Promise<DatasetImportedDto> {
    return this.imports.import(query, context);
  }

  /** Reads a file, or its first part, as an import would. Stores nothing. */
  @Operation('import/preview', 'writer')
  @ApiConsumes(CSV, ...JSON_LINES)
  @ApiBody(FILE)
  @ApiJsonResponse({ type: DatasetImportPreviewAnswerDto })
  preview(
    @Query(QueryPipe) query: DatasetImportPreviewDto,
    @Ctx() context: Context,
  ): Promise<string> {
    return this.imports.preview(query, context);
  }

  /** Publishes a new version of a dataset without some of its rows. Older versions keep them. */
  @Operation('remove_rows', 'writer')
  @Idempotent()
  remove(@Body() body: DatasetRemoveDto, @Ctx() { caller }: Context): Promise<DatasetRemovedDto> {
    return this.datasets.remove(body, caller);
  }

  /** Splits a dataset into several by a seed. Rows of a group stay together. */
  @Operation('split', 'writer')
  @Idempotent()
  split(@Body() body: DatasetSplitDto, @Ctx() { caller }: Context): Promise<DatasetSplitAnswerDto> {
    return this.datasets.split(body, caller);
  }

  /** Lists which rows of datasets were built from which calls, and which of these calls are gone. */
  @Operation('lineage', 'reader')
  @ApiOkResponse({ type: DatasetLineageDto })
  async lineage(
    @Body() query: DatasetLineageQueryDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile> {
    return jsonArray(await this.datasets.lineage(query), context, 'rows');
  }
}
