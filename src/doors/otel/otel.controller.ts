import { applyDecorators, Headers, StreamableFile } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import {
  BasicOrBearerAuth,
  NoProjectField,
  Operation,
  Resource,
  ShortWrites,
} from '../../platform/auth/access-decorators.js';
import { langfuseProjectKey } from '../../platform/auth/basic.strategy.js';
import { freeBytes } from '../../platform/http/body-bytes.js';
import {
  assertJson,
  assertUtf8,
  readMediaType,
  readBytes,
} from '../../platform/http/body.guard.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { isProjectId } from '../../platform/http/dto.js';
import {
  type DroppedItems,
  DROPPED_LOGS,
  DROPPED_METRICS,
  metricsResponse,
  reportDropped,
} from './dropped-items.js';
import { LogsExportedDto, MetricsExportedDto, SpansExportedDto } from './otel.dto.js';
import { LogsService } from './logs.service.js';
import { OtelService } from './otel.service.js';
import { type PartialSuccess, spansOfJson, spansOfProtobuf, spansResponse } from './otlp.js';
import { logsOfJson, logsOfProtobuf, logsResponse, mayHoldEvents } from './otlp-logs.js';

const PROTOBUF = 'application/x-protobuf';
/** Path to which the SDKs of weave send spans of agents. All spans on this path count as spans of agents. */
const AGENTS = '/agents/otel/v1/traces';
/** Bytes of memory per byte of a body. Spans are decoded one by one. */
const DECODED_WEIGHT = 8;

interface SignalExport<Item> {
  /** Items that are not kept. With them, a body is decoded only if `mayHoldEvents` returns true for it. */
  dropped?: DroppedItems;
  ofProtobuf: (bytes: Uint8Array) => Promise<Item[]>;
  ofJson: (bytes: Uint8Array) => Promise<Item[]>;
  store: (items: Item[], project: string | undefined) => Promise<PartialSuccess | null>;
  response: typeof spansResponse;
}

/** Reads the body, and returns the answer of `take` in the format of the body. */
async function answerBody(
  context: Context,
  response: typeof spansResponse,
  take: (bytes: Buffer, isBinary: boolean) => Promise<PartialSuccess | null>,
): Promise<StreamableFile> {
  const isBinary = readMediaType(context)[0] === PROTOBUF;
  if (!isBinary) assertJson(context, `${PROTOBUF} or application/json`);
  const bytes = await readBytes(context);
  try {
    const partialSuccess = await take(bytes, isBinary);
    return isBinary
      ? new StreamableFile(response.protobuf(partialSuccess), { type: PROTOBUF })
      : new StreamableFile(response.json(partialSuccess), { type: 'application/json' });
  } finally {
    freeBytes(bytes);
  }
}

/** Declares an operation for the export of a signal. `message` is the name of the protobuf message. */
const ExportOperation = (paths: string[], message: string) =>
  applyDecorators(
    Operation(paths, 'writer'),
    NoProjectField('a header or each resource names it, which OtelService checks'),
    ApiHeader({
      name: 'project_id',
      required: false,
      schema: { type: 'string', example: 'acme/demo' },
    }),
    ApiConsumes(PROTOBUF, 'application/json'),
    ApiBody({
      schema: { type: 'object', description: `opentelemetry.proto.collector.${message}` },
    }),
  );

/** Declares the answer: the class in JSON, or the same message in protobuf. */
const ApiExported = (answer: NewableFunction) =>
  applyDecorators(
    ApiExtraModels(answer),
    ApiOkResponse({
      description: '',
      content: {
        [PROTOBUF]: { schema: { type: 'string', format: 'binary' } },
        'application/json': { schema: { $ref: getSchemaPath(answer) } },
      },
    }),
  );

const LANGFUSE = 'api/public/otel/v1/traces';

/** Returns the public key of Langfuse's exporter, if it names a project. */
const langfusePublicKey = ({ path, headers }: Context): string | undefined =>
  path.endsWith(LANGFUSE) ? langfuseProjectKey(headers.authorization) : undefined;

@Resource('otel', BasicOrBearerAuth())
export class OtelController {
  constructor(
    private readonly otel: OtelService,
    private readonly messages: LogsService,
  ) {}

  /**
   * Stores spans of OTLP/HTTP, in protobuf or JSON, as calls. Invalid spans are counted in `partialSuccess`; the others
   * are stored. Exporters, Weave and Langfuse use different paths. On Langfuse's path, the user name of Basic
   * authentication may name the project.
   */
  @ExportOperation(
    ['otel/v1/traces', 'v1/traces', AGENTS.slice(1), LANGFUSE],
    'trace.v1.ExportTraceServiceRequest',
  )
  @ShortWrites()
  @ApiExported(SpansExportedDto)
  traces(
    @Ctx() context: Context,
    @Headers('project_id') header: string | undefined,
  ): Promise<StreamableFile> {
    return this.exportItems(context, header ?? langfusePublicKey(context), {
      ofProtobuf: spansOfProtobuf,
      ofJson: spansOfJson,
      store: (spans, project) =>
        this.otel.export(spans, project, context.caller, context.path === AGENTS),
      response: spansResponse,
    });
  }

  /**
   * Stores messages, evaluations and events of coding agents from log records of OTLP/HTTP, in protobuf or JSON.
   * Messages are added to the call of their span, in any order of arrival. Events of coding agents become calls. All
   * other records are counted in `partialSuccess`.
   */
  @ExportOperation(['otel/v1/logs', 'v1/logs'], 'logs.v1.ExportLogsServiceRequest')
  @ApiExported(LogsExportedDto)
  logs(
    @Ctx() context: Context,
    @Headers('project_id') header: string | undefined,
  ): Promise<StreamableFile> {
    return this.exportItems(context, header, {
      dropped: DROPPED_LOGS,
      ofProtobuf: logsOfProtobuf,
      ofJson: logsOfJson,
      store: (records, project) => this.messages.export(records, project, context.caller),
      response: logsResponse,
    });
  }

  /**
   * Accepts metrics of OTLP/HTTP and keeps nothing of them, for exporters that always send metrics. `partialSuccess`
   * reports the number of data points.
   */
  @Operation(['otel/v1/metrics', 'v1/metrics'], 'writer')
  @NoProjectField('keeps nothing')
  @ApiConsumes(PROTOBUF, 'application/json')
  @ApiExported(MetricsExportedDto)
  ignored(@Ctx() context: Context): Promise<StreamableFile> {
    return answerBody(context, metricsResponse, (bytes, isBinary) =>
      reportDropped(bytes, isBinary, DROPPED_METRICS),
    );
  }

  private exportItems<Item>(
    context: Context,
    project: string | undefined,
    signal: SignalExport<Item>,
  ): Promise<StreamableFile> {
    const { caller, hold } = context;
    if (isProjectId(project)) context.assertReaches(project);
    return answerBody(context, signal.response, async (bytes, isBinary) => {
      if (signal.dropped && !mayHoldEvents(bytes))
        return reportDropped(bytes, isBinary, signal.dropped);
      if (!isBinary) assertUtf8(bytes);
      await hold.add(bytes.length * DECODED_WEIGHT);
      const items = await (isBinary ? signal.ofProtobuf(bytes) : signal.ofJson(bytes));
      await caller.assertValid();
      return signal.store(items, project);
    });
  }
}
