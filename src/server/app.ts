import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { maxHeaderSize, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
import type { DataSource } from 'typeorm';
import { AppModule } from '../app.module.js';
import { metadata } from '../metadata.js';
import { KeysService } from '../platform/auth/keys/keys.service.js';
import { assertRoutes, type Route, listRoutes } from '../platform/auth/routes.js';
import { edge, requestSubject } from '../platform/http/edge.js';
import { problem, PROBLEM_JSON } from '../platform/http/error.filter.js';
import { ports } from '../platform/http/ports.js';
import { ConnectionsService } from '../platform/operations/connections.service.js';
import { ApiError, ERRORS } from '../platform/errors.js';
import { PinoLoggerService } from '../platform/process/logger.js';
import type { Config } from '../platform/config/config.js';
import { consoleFiles } from '../doors/console/console-files.js';
import { weaveDoor } from '../doors/weave/weave-door.js';
import { decodeOtlpHeaders } from './encoded-headers.js';
import { Database } from '../platform/database/database.js';
import { TRAJECTORY_SCHEMAS } from '../training/trajectory-rules.js';
import { QuotasService } from '../tracing/projects/quotas/quotas.service.js';
import { VERSION } from '../platform/config/version.js';
import { paceKeylessRequests } from './keyless-pace.js';
import { answerInOrder } from './pipelining.js';
import { assertRegistered } from './registered.js';

/** Longer than the idle timeout of common load balancers, so that they close a connection first. */
const KEEP_ALIVE_MS = 65_000;
/** Interval of the search for requests with late headers. */
const CHECK_EVERY_MS = 5000;

/** Makes the whole service over one data source, ready to listen. */
export async function createApp(
  dataSource: DataSource,
  config: Config,
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forDataSource(dataSource, config),
    { bodyParser: false, logger: new PinoLoggerService(), abortOnError: false },
  );
  const described = await metadata();
  const controllers = described['@nestjs/swagger'].controllers.flatMap(([file, classes]) =>
    Object.keys(classes).map((name) => file[name] as Function),
  );
  assertRegistered(app, dataSource, controllers);
  const routes = listRoutes(app);
  assertRoutes(routes);
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', config.trustProxy);
  holdAnswers(app);
  app.use(weaveDoor(config));
  const server: Server = app.getHttpServer();
  const quotas = app.get(QuotasService);
  app.use(edge(config, (request, bytes) => quotas.noteRequest(request.user, bytes)));
  app.use(answerInOrder());
  app.use(ports(config));
  app.use(decodeOtlpHeaders());
  app.use(paceKeylessRequests(app.get(KeysService), app.get(ConnectionsService)));
  app.use(consoleFiles());
  app.use('/docs', hardenDocs);
  const database = app.get(Database);
  const shortWrites = pathPattern(routes.filter(({ hasShortWrites }) => hasShortWrites));
  app.use((request: Request, _: Response, next: NextFunction) =>
    shortWrites.test(request.path) && !request.context.trace
      ? next()
      : database.scope.run(
          { owner: () => request.user?.owner ?? '', subject: requestSubject(request) },
          next,
        ),
  );
  limitTimes(server, config);
  server.on('clientError', refuserOfNonHttp(config));
  await SwaggerModule.loadPluginMetadata(async () => described);
  let document: OpenAPIObject | undefined;
  let text: Buffer | undefined;
  const makeDocument = () => (document ??= openApiDocument(app));
  app
    .getHttpAdapter()
    .getInstance()
    .get('/openapi.json', (_, response) => {
      text ??= Buffer.from(JSON.stringify(makeDocument()));
      response.type('json').send(text);
    });
  SwaggerModule.setup('docs', app, makeDocument, {
    raw: false,
    customSiteTitle: 'Skein API',
  });
  return app;
}

/** Policy for Swagger UI, which the service serves itself. Its page has inline styles, but no inline script. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function hardenDocs({ context }: Request, response: Response, next: NextFunction): void {
  context.disconnectUnread();
  response.set({ 'Content-Security-Policy': DOCS_POLICY, 'Referrer-Policy': 'no-referrer' });
  next();
}

const pathPattern = (routes: Route[]) =>
  new RegExp(
    `^(${routes.flatMap(({ paths }) => paths.map((path) => path.replaceAll(/:\\w+/g, '[^/]+'))).join('|')})$`,
  );

/** Counts each answer that is not a stream while its client reads it. Express sends all of them with `send`. */
function holdAnswers(app: NestExpressApplication): void {
  const { response } = app.getHttpAdapter().getInstance() as { response: Response };
  const { send } = response;
  response.send = function (this: Response, body?: unknown) {
    if (typeof body === 'string' || Buffer.isBuffer(body))
      (this.req as Request | undefined)?.context.holdAnswer(body);
    return send.call(this, body);
  };
}

/**
 * Limits the time for headers, which are short. Bodies have their own deadline (`platform/http/inflated-body.ts`),
 * because a large one may take long.
 */
function limitTimes(server: Server, { bodyTimeoutSeconds }: Config): void {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = bodyTimeoutSeconds * 1000;
  server.requestTimeout = 0;
  // Node reads it when the server begins to listen. The types know it only as an option.
  Object.assign(server, { connectionsCheckingInterval: CHECK_EVERY_MS });
}

const UNREADABLE = new ApiError('invalid_request', 'the request is not valid HTTP');

/** Refuses input that is not HTTP, in the format of all other errors. It reaches no middleware. */
function refuserOfNonHttp({ bodyTimeoutSeconds }: Config) {
  /** Refusals, keyed by the code of Node's error. */
  const known: Record<string, ApiError> = {
    HPE_HEADER_OVERFLOW: new ApiError(
      'headers_too_large',
      `the address and the headers are over the limit of ${maxHeaderSize} bytes`,
    ),
    ERR_HTTP_REQUEST_TIMEOUT: new ApiError(
      'request_timeout',
      `the head of the request took over ${bodyTimeoutSeconds} seconds`,
    ),
  };
  return (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) return;
    const id = randomUUID();
    const refusal = known[error.code ?? ''] ?? UNREADABLE;
    const body = JSON.stringify(problem(refusal, id));
    socket.end(
      `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\nx-request-id: ${id}\r\ncontent-type: ${PROBLEM_JSON}\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    );
  };
}

/** Returns the document of `/openapi.json`, in the configured dialect. */
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
  Object.assign(document.components!.schemas!, TRAJECTORY_SCHEMAS, { Problem: PROBLEM_SCHEMA });
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(operations as Operations)) {
      const name = path.replaceAll(/\W+/g, ' ').trim().replaceAll(' ', '_');
      operation.operationId = Object.keys(operations).length > 1 ? `${method}_${name}` : name;
      operation.responses['default'] = PROBLEM_RESPONSE;
    }
  return document;
}

type Operations = Record<string, { operationId?: string; responses: Record<string, object> }>;

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
      items: {
        type: 'object' as const,
        required: ['path', 'message'],
        properties: { path: TEXT, message: TEXT, line: { type: 'integer' as const }, field: TEXT },
      },
    },
    request_id: TEXT,
  },
};
