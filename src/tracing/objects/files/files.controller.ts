import { Body, StreamableFile } from '@nestjs/common';
import { ApiOkResponse, ApiProduces } from '@nestjs/swagger';
import {
  BasicAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../../platform/auth/access-decorators.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { FileContentDto, FileCreatedDto, FileForm } from './files.dto.js';
import { FilesService } from './files.service.js';

const BYTES = 'application/octet-stream';

@Resource('files', BasicAuth())
export class FilesController {
  constructor(private readonly files: FilesService) {}

  /** Stores a file of up to 100 MiB, sent as multipart/form-data. */
  // No Idempotency-Key: a file is identified by its bytes, so a repeated request stores nothing new.
  @Operation(['file/create', 'files/create'], 'writer')
  @NoProjectField('a part of the form names it, which FilesService checks')
  @FileForm()
  createFile(@Ctx() context: Context): Promise<FileCreatedDto> {
    return this.files.create(context);
  }

  /** Reads the bytes of a file. */
  @Operation(['file/content', 'files/content'], 'reader')
  @ApiProduces(BYTES)
  @ApiOkResponse({ schema: { type: 'string', format: 'binary' } })
  async readFile(
    @Body() query: FileContentDto,
    @Ctx() { caller }: Context,
  ): Promise<StreamableFile> {
    const { bytes, length } = await this.files.content(query, caller);
    return new StreamableFile(bytes, { type: BYTES, length });
  }
}
