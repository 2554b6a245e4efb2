import { applyDecorators, Header } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiOkResponse,
  type ApiResponseOptions,
  getSchemaPath,
} from '@nestjs/swagger';
import { JSON_LINES, NDJSON } from './json-rows.js';

/* Declares the answer of an operation, for handlers whose return type does not show it. */

export const ApiJsonResponse = (description: ApiResponseOptions) =>
  applyDecorators(
    Header('Content-Type', 'application/json; charset=utf-8'),
    ApiOkResponse(description),
  );

/** The handler streams JSON lines. Each line has one of these types: classes, or names of schemas. */
export function ApiJsonLines(...lines: (NewableFunction | string)[]) {
  const schemas = lines.map((line) => ({ $ref: getSchemaPath(line) }));
  const content = { schema: schemas.length > 1 ? { anyOf: schemas } : schemas[0]! };
  return applyDecorators(
    ApiExtraModels(...lines.filter((line) => typeof line === 'function')),
    ApiOkResponse({
      description: 'JSON lines: the schema is that of one line.',
      content: { [JSON_LINES]: content, [NDJSON]: content },
    }),
  );
}

export const ApiEmptyResponse = () =>
  ApiOkResponse({ schema: { type: 'object', maxProperties: 0, additionalProperties: false } });
