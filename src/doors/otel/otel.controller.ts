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
/** Where the SDKs of weave send the spans of agents: all that come here count as such. */
const AGENTS = '/agents/otel/v1/traces';
/** Bytes of memory for each byte of spans, which are decoded one by one. */
const DECODED_WEIGHT = 8;

/** How what is exported is read, stored and answered. */
interface SignalExport<Item> {
  /** Items that are not kept: a body in which `mayHoldEvents` finds no others is not decoded. */
  dropped?: DroppedItems;
  ofProtobuf: (bytes: Uint8Array) => Promise<Item[]>;
  ofJson: (bytes: Uint8Array) => Promise<Item[]>;
  store: (items: Item[], project: string | undefined) => Promise<PartialSuccess | null>;
  response: typeof spansResponse;
}

/** Answers in the form of the body what `take` says of it. */
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

/** The operation takes an export of a signal, by the name of its message. */
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

/** What the exporter is told, as it asked: the class, or the same in protobuf. */
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

/** The public key of Langfuse's exporter, if it names a project. */
const langfusePublicKey = ({ path, headers }: Context): string | undefined =>
  path.endsWith(LANGFUSE) ? langfuseProjectKey(headers.authorization) : undefined;

@Resource('otel', BasicOrBearerAuth())
export class OtelController {
  constructor(
    private readonly otel: OtelService,
    private readonly messages: LogsService,
  ) {}

  /**
   * Takes spans of OTLP/HTTP, in protobuf or JSON, as calls. Bad ones are counted in `partialSuccess`, the rest is stored. The addresses
   * are those that exporters, Weave and Langfuse use; on the last, a user name of Basic that is a project names it.
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
   * Takes log records of OTLP/HTTP, in protobuf or JSON. Events of generative AI that carry messages give these to the call of their
   * span, which may come before or after them. Events of coding agents become calls. `partialSuccess` says how many others there were.
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

  /** Takes metrics of OTLP/HTTP, for exporters that send them along, and keeps nothing of them: `partialSuccess` says how many there were. */
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
