import { applyDecorators, Header } from '@nestjs/common';
import { ApiOkResponse, type ApiResponseOptions } from '@nestjs/swagger';

/** The handler answers JSON text. Its return type tells nothing of it, so the description does. */
export const ApiJsonResponse = (description: ApiResponseOptions) =>
  applyDecorators(
    Header('Content-Type', 'application/json; charset=utf-8'),
    ApiOkResponse(description),
  );
