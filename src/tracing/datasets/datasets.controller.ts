import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { Idempotent } from '../../platform/auth/idempotency/idempotency.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { jsonArray } from '../../platform/http/json-rows.js';
import {
  DatasetAddDto,
  DatasetAddedDto,
  DatasetLineageDto,
  DatasetLineageQueryDto,
  DatasetRemovedDto,
  DatasetRemoveDto,
  DatasetSplitAnswerDto,
  DatasetSplitDto,
} from './datasets.dto.js';
import { DatasetsService } from './datasets.service.js';

@Resource('datasets', BasicAuth(), 'datasets')
export class DatasetsController {
  constructor(private readonly datasets: DatasetsService) {}

  /** Builds a row from each call, adds rows that are new to the dataset, and publishes the result as a new version. */
  @Operation('add_from_calls', 'writer')
  @Idempotent()
  add(@Body() body: DatasetAddDto, @Ctx() { caller }: Context): Promise<DatasetAddedDto> {
    return this.datasets.add(body, caller);
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
