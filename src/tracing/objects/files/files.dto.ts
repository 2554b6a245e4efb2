import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiConsumes } from '@nestjs/swagger';
import { IsProjectId, IsText } from '../../../platform/http/dto.js';

/** Describes the parts of the multipart body of `/file/create`, which may come in any order. */
export const FileForm = () =>
  applyDecorators(
    ApiConsumes('multipart/form-data'),
    ApiBody({
      schema: {
        type: 'object',
        required: ['project_id', 'file'],
        properties: {
          project_id: { type: 'string', example: 'acme/demo' },
          file: { type: 'string', format: 'binary', description: 'At most 100 MiB.' },
          expected_digest: {
            type: 'string',
            description:
              'The digest that the client computed. A different one is refused with 409.',
          },
        },
      },
    }),
  );

export class FileCreatedDto {
  /** SHA-256 of the bytes, in the form of objects' digests. */
  digest!: string;
}

export class FileContentDto {
  @IsProjectId() project_id!: string;
  @IsText(256) digest!: string;
}
