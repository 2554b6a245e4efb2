import { Body, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../platform/auth/access-decorators.js';
import { AnswersInDialect } from '../../platform/auth/dialect.guard.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { answerStream, JSON_LINES, jsonLines } from '../../platform/http/json-rows.js';
import { ExportDto } from './export.dto.js';
import { ExportService } from './export.service.js';
import { SCHEMA_VERSION } from './export-columns.js';
import { PARQUET, ParquetFrame } from './parquet-frame.js';

@Resource('export', BasicAuth())
export class ExportController {
  constructor(private readonly service: ExportService) {}

  /**
   * Streams all matching calls, feedback, threads or objects, the rows of a table or the trajectories of a build, as
   * one file. Calls come with costs and feedback. Rows are read in one snapshot. The connection is cut if the service
   * cannot complete the file.
   */
  @Operation('export', 'reader')
  @AnswersInDialect()
  @ApiOkResponse({
    description: 'JSON lines are the rows that the lists of the API answer.',
    content: {
      [PARQUET]: { schema: { type: 'string', format: 'binary' } },
      [JSON_LINES]: { schema: { type: 'string' } },
    },
  })
  async export(@Body() body: ExportDto, @Ctx() context: Context): Promise<StreamableFile> {
    const { of, format } = body;
    const { rows, columns } = await this.service.export(body, context.caller);
    context.response.setHeader('Content-Disposition', `attachment; filename="${of}.${format}"`);
    if (format === 'jsonl') return jsonLines(rows, context);
    const frame = new ParquetFrame({
      columns,
      schema: `${of}/${SCHEMA_VERSION}`,
      owner: context.caller.owner,
    });
    return answerStream(rows, context, frame, PARQUET);
  }
}
