import type { ServerResponse } from 'node:http';
import { applyDecorators, Body, Get, Inject, Res, UseFilters } from '@nestjs/common';
import { ApiHeader, ApiOkResponse } from '@nestjs/swagger';
import {
  Allow,
  BasicOrBearerAuth,
  NoProjectField,
  Operation,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { Context, Ctx } from '../../platform/http/context.js';
import type { GatewayApi } from './gateway-exchange.js';
import type { JsonObject } from './gateway-request.js';
import { ChatDto, CompletionDto, GatewayModelsDto, ResponseDto } from './gateway.dto.js';
import { GatewayErrorFilter } from './gateway.filter.js';
import { GatewayService } from './gateway.service.js';
import { artifactProject, ModelNamesService } from './admission/model-names.service.js';
import { namedProject, projectRequired, readCallContext, readRecord } from './call-context.js';

/** Headers that describe the call, for openapi.json. */
const HEADERS = {
  'X-Skein-Project': '<entity>/<project>, where the key reaches several',
  'X-Skein-Thread-Id': 'the thread of the call',
  'X-Skein-Turn-Id': 'the turn of the call; the call itself by default',
  'X-Skein-Trace-Id': 'the trace of the call',
  'X-Skein-Parent-Id': 'the call that asks',
  'X-Skein-Attributes': 'a JSON object, of up to 8,192 bytes',
  'X-Skein-Record': 'required or best_effort',
};

const ModelOperation = (path: string) =>
  applyDecorators(
    Operation(path, 'writer'),
    ...Object.entries(HEADERS).map(([name, description]) =>
      ApiHeader({ name, required: false, description, schema: { type: 'string' } }),
    ),
    ApiOkResponse({
      description: '',
      content: {
        'application/json': {
          schema: {
            type: 'object',
            additionalProperties: true,
            description: 'What the provider answers.',
          },
        },
        'text/event-stream': { schema: { type: 'string' } },
      },
    }),
  );

/** Serves clients of OpenAI's API with the providers that the operator set up. Errors are in OpenAI's shape. */
@NoProjectField('a header, the key or the name of the model names it, which namedProject checks')
@UseFilters(GatewayErrorFilter)
@Resource('gateway', BasicOrBearerAuth(), 'v1')
export class GatewayController {
  @Inject(CONFIG) private readonly config!: Config;

  constructor(
    private readonly gateway: GatewayService,
    private readonly names: ModelNamesService,
  ) {}

  /** Requests a chat completion from a model, and records the call. Streams are relayed as they arrive. */
  @ModelOperation('chat/completions')
  chat(
    @Body() body: ChatDto,
    @Ctx() context: Context,
    @Res() response: ServerResponse,
  ): Promise<void> {
    return this.ask('chat/completions', body, context, response);
  }

  /** Requests a text completion from a model, and records the call. Streams are relayed as they arrive. */
  @ModelOperation('completions')
  complete(
    @Body() body: CompletionDto,
    @Ctx() context: Context,
    @Res() response: ServerResponse,
  ): Promise<void> {
    return this.ask('completions', body, context, response);
  }

  /** Requests a response from a model, and records the call. Streams are relayed as they arrive. */
  @ModelOperation('responses')
  respond(
    @Body() body: ResponseDto,
    @Ctx() context: Context,
    @Res() response: ServerResponse,
  ): Promise<void> {
    return this.ask('responses', body, context, response);
  }

  /** Lists the models that the key may request. */
  @Get('models')
  @Allow('writer')
  async models(@Ctx() context: Context): Promise<GatewayModelsDto> {
    const listed = await this.names.list(namedProject(context), context.caller);
    return { object: 'list', data: listed.map((model) => ({ object: 'model', ...model })) };
  }

  private async ask(
    api: GatewayApi,
    body: ChatDto | CompletionDto | ResponseDto,
    context: Context,
    response: ServerResponse,
  ): Promise<void> {
    const projectId = namedProject(context) ?? artifactProject(body.model);
    if (projectId === undefined) throw projectRequired();
    context.assertReaches(projectId);
    const json = body as unknown as JsonObject & { model: string };
    const answer = await this.gateway.ask(
      {
        api,
        opName: `gateway.${api.replace('/', '.')}`,
        text: context.text,
        body: json,
        callContext: readCallContext(context, projectId, json),
        record: readRecord(context, this.config),
      },
      context,
    );
    if (!answer) return;
    const { type, bytes } = answer;
    context.disconnectUnread();
    response.writeHead(200, { 'content-type': type, 'content-length': bytes.length });
    response.end(bytes);
  }
}
