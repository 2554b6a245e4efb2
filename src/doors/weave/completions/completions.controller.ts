import type { ServerResponse } from 'node:http';
import { Body, Res } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { BasicAuth, Operation, Resource } from '../../../platform/auth/access-decorators.js';
import { ApiError } from '../../../platform/errors.js';
import { ApiJsonResponse } from '../../../platform/http/api-answers.js';
import { Context, Ctx } from '../../../platform/http/context.js';
import { JSON_LINES } from '../../../platform/http/json-rows.js';
import { CompletionsCreatedDto, CompletionsCreateDto } from './completions.dto.js';
import { CompletionsService } from './completions.service.js';
import { metaLine } from './json-lines-transform.js';
import { CALL_HEADER, type WholeAnswer } from '../../gateway/gateway-exchange.js';
import { ProviderRefusal } from '../../gateway/sending/provider-client.js';

const LINE = {
  type: 'object',
  additionalProperties: true,
  description: '`_meta` with the call, then chunks of the provider as they came, or `error`.',
};

@Resource('gateway', BasicAuth())
export class CompletionsController {
  constructor(private readonly completions: CompletionsService) {}

  /**
   * Requests a chat completion from a model. If the provider refuses the request, the status is 200 and `response`
   * holds the error.
   */
  @Operation('completions/create', 'writer')
  @ApiJsonResponse({ type: CompletionsCreatedDto })
  async create(@Body() body: CompletionsCreateDto, @Ctx() context: Context): Promise<string> {
    const response = await this.completions.ask(body, context, false).then(
      (answer) => jsonAnswer(answer!),
      (error: unknown) => JSON.stringify({ error: toldError(error) }),
    );
    const id = callId(context.response);
    const { conversation_id } = body;
    const more = JSON.stringify({
      ...(id !== null && { weave_call_id: id }),
      ...(conversation_id && { conversation_id }),
    }).slice(1);
    return `{"response":${response}${more === '}' ? '' : ','}${more}`;
  }

  /**
   * Requests a chat completion as JSON lines: first `_meta` with the call, then the chunks as they arrive, and `error`
   * on a failure.
   */
  @Operation('completions/create_stream', 'writer')
  @ApiOkResponse({
    description: 'JSON lines: the schema is that of one line.',
    content: { [JSON_LINES]: { schema: LINE } },
  })
  async stream(
    @Body() body: CompletionsCreateDto,
    @Ctx() context: Context,
    @Res() response: ServerResponse,
  ): Promise<void> {
    const line = await this.completions.ask(body, context, true).then(
      (answer) => answer && jsonAnswer(answer).replaceAll(/\r?\n/g, ' '),
      (error: unknown) => JSON.stringify({ error: toldError(error) }),
    );
    if (line === null) return;
    context.disconnectUnread();
    response.writeHead(200, { 'content-type': JSON_LINES });
    response.end(`${metaLine(callId(response))}${line}\n`);
  }
}

function callId(response: ServerResponse): string | null {
  const id = response.getHeader(CALL_HEADER);
  return typeof id === 'string' ? id : null;
}

/** Returns JSON in every case, because the answer is embedded in JSON. */
const jsonAnswer = ({ bytes, isJson }: WholeAnswer) =>
  isJson ? bytes.toString('utf8') : JSON.stringify({ error: 'the answer is not JSON' });

/**
 * Returns the message of a provider's failure.
 * @throws the error itself when the request, or Skein, is at fault
 */
function toldError(error: unknown): string {
  if (error instanceof ProviderRefusal) return error.message;
  if (error instanceof ApiError && error.code === 'provider_failed') return error.message;
  throw error;
}
