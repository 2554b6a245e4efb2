import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { DataSource } from 'typeorm';
import { AppModule } from './app.module.js';
import { edge } from './common/edge.js';
import { PROBLEM_JSON } from './common/error.filter.js';
import { ERRORS } from './common/errors.js';
import { PinoLoggerService } from './common/logger.js';
import { VERSION } from './version.js';

/** Longer than the idle timeout of usual load balancers, so that they close a connection first. */
const KEEP_ALIVE_MS = 65_000;

/** The whole service over one data source, ready to listen. */
export async function createApp(dataSource: DataSource): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forDataSource(dataSource),
    { bodyParser: false, logger: new PinoLoggerService(), abortOnError: false },
  );
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(edge);
  app.getHttpServer().keepAliveTimeout = KEEP_ALIVE_MS;
  SwaggerModule.setup('docs', app, () => openApiDocument(app), {
    jsonDocumentUrl: 'openapi.json',
    customSiteTitle: 'Skein API',
  });
  return app;
}

/** What `/openapi.json` answers, in the dialect in force. */
export function openApiDocument(app: NestExpressApplication): OpenAPIObject {
  const base = new DocumentBuilder()
    .setTitle('Skein')
    .setDescription(
      'Records what LLM applications do and turns it into training data. Errors are RFC 9457 problem details.',
    )
    .setVersion(VERSION)
    .addBasicAuth({
      type: 'http',
      scheme: 'basic',
      description: 'Any user name; an API key as the password.',
    })
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'API key' })
    .build();
  const document = SwaggerModule.createDocument(app, base);
  document.components!.schemas!['Problem'] = PROBLEM_SCHEMA;
  for (const [path, operations] of Object.entries(document.paths))
    for (const operation of Object.values(operations as Record<string, OperationObject>)) {
      operation.operationId = path.replaceAll(/\W+/g, '_').slice(1);
      operation.responses['default'] = PROBLEM_RESPONSE;
    }
  return document;
}

type OperationObject = { operationId?: string; responses: Record<string, object> };

const PROBLEM_RESPONSE = {
  description: 'An error: docs/errors.md.',
  content: { [PROBLEM_JSON]: { schema: { $ref: '#/components/schemas/Problem' } } },
};

const TEXT = { type: 'string' } as const;
const PROBLEM_SCHEMA = {
  type: 'object' as const,
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: TEXT,
    title: TEXT,
    status: { type: 'integer' as const },
    detail: TEXT,
    code: { ...TEXT, enum: Object.keys(ERRORS) },
    errors: {
      type: 'array' as const,
      items: { type: 'object' as const, properties: { path: TEXT, message: TEXT } },
    },
    request_id: TEXT,
  },
};
