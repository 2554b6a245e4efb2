import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { DataSource } from 'typeorm';
import { AppModule } from './app.module.js';
import { edge } from './common/edge.js';
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

export function openApiDocument(app: NestExpressApplication): OpenAPIObject {
  const description =
    'Records what LLM applications do and turns it into training data. Errors are RFC 9457 problem details.';
  const base = new DocumentBuilder()
    .setTitle('Skein')
    .setDescription(description)
    .setVersion(VERSION)
    .addBasicAuth({
      type: 'http',
      scheme: 'basic',
      description: 'Any user name; an API key as the password.',
    })
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An API key.' })
    .build();
  return SwaggerModule.createDocument(app, base, {
    operationIdFactory: (_controller, method) => method,
  });
}
