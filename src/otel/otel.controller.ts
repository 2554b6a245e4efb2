import {
  Controller,
  Headers,
  HttpCode,
  HttpStatus,
  Post,
  Req,
  StreamableFile,
} from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiHeader,
  ApiOkResponse,
  ApiProduces,
  ApiTags,
} from '@nestjs/swagger';
import type { Request } from 'express';
import { Allow, EitherAuth, NoProjectField } from '../auth/access.js';
import { basicUserName } from '../auth/basic.strategy.js';
import { Caller, CallerParam } from '../auth/caller.js';
import { holdOf } from '../common/body-budget.js';
import { freeBytes } from '../common/body-bytes.js';
import { assertJson, assertUtf8, mediaTypeOf, readBytes } from '../common/body.guard.js';
import { isProjectId } from '../common/dto.js';
import { OtelService } from './otel.service.js';
import {
  type PartialSuccess,
  responseJson,
  responseProtobuf,
  spansOfJson,
  spansOfProtobuf,
} from './otlp.js';

const PROTOBUF = 'application/x-protobuf';
/** Bytes of memory for each byte of spans, which are decoded one by one. */
const DECODED_WEIGHT = 8;

const LANGFUSE = 'api/public/otel/v1/traces';

/** The public key of Langfuse's exporter, if it is a project. */
function publicKeyOf({ path, headers }: Request): string | undefined {
  if (!path.endsWith(LANGFUSE)) return undefined;
  const name = basicUserName(headers.authorization);
  return isProjectId(name) ? name : undefined;
}

@ApiTags('otel')
@EitherAuth()
@Controller()
export class OtelController {
  constructor(private readonly otel: OtelService) {}

  /**
   * Takes spans of OTLP/HTTP, in protobuf or JSON, as calls. Bad ones are counted in `partialSuccess`, the rest is stored. The addresses
   * are those that exporters, Weave and Langfuse use; on the last, a user name of Basic that is a project names it.
   */
  @Post(['otel/v1/traces', 'v1/traces', 'agents/otel/v1/traces', LANGFUSE])
  @HttpCode(HttpStatus.OK)
  @Allow('writer')
  @NoProjectField('a header or each resource names it, which OtelService checks')
  @ApiHeader({
    name: 'project_id',
    required: false,
    schema: { type: 'string', example: 'acme/demo' },
  })
  @ApiConsumes(PROTOBUF, 'application/json')
  @ApiProduces(PROTOBUF, 'application/json')
  @ApiBody({
    schema: {
      type: 'object',
      description: 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest',
    },
  })
  @ApiOkResponse({
    schema: {
      example: {
        partialSuccess: { rejectedSpans: '1', errorMessage: 'startTimeUnixNano is required' },
      },
    },
  })
  async traces(
    @Req() request: Request,
    @Headers('project_id') header: string | undefined,
    @CallerParam() caller: Caller,
  ): Promise<StreamableFile> {
    const project = header ?? publicKeyOf(request);
    if (isProjectId(project)) caller.assertReaches(project);
    const isProtobuf = mediaTypeOf(request)[0] === PROTOBUF;
    if (!isProtobuf) assertJson(request, `${PROTOBUF} or application/json`);
    const bytes = await readBytes(request);
    let partialSuccess: PartialSuccess | null;
    try {
      if (!isProtobuf) assertUtf8(bytes);
      await holdOf(request).add(bytes.length * DECODED_WEIGHT);
      const spans = await (isProtobuf ? spansOfProtobuf(bytes) : spansOfJson(bytes));
      await caller.assertValid();
      partialSuccess = await this.otel.export(spans, project, caller);
    } finally {
      freeBytes(bytes);
    }
    return isProtobuf
      ? new StreamableFile(responseProtobuf(partialSuccess), { type: PROTOBUF })
      : new StreamableFile(responseJson(partialSuccess), { type: 'application/json' });
  }

  /** Takes metrics and logs of OTLP/HTTP, for exporters that send them along, and keeps nothing of them. */
  @Post(['otel/v1/metrics', 'v1/metrics', 'otel/v1/logs', 'v1/logs'])
  @HttpCode(HttpStatus.OK)
  @Allow('writer')
  @NoProjectField('keeps nothing')
  @ApiConsumes(PROTOBUF, 'application/json')
  @ApiProduces(PROTOBUF, 'application/json')
  @ApiOkResponse({ schema: { example: {} } })
  ignored(@Req() request: Request): StreamableFile {
    const isProtobuf = mediaTypeOf(request)[0] === PROTOBUF;
    return isProtobuf
      ? new StreamableFile(responseProtobuf(null), { type: PROTOBUF })
      : new StreamableFile(responseJson(null), { type: 'application/json' });
  }
}
