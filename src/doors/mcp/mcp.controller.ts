import { Body, Delete, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import {
  BasicOrBearerAuth,
  NoProjectField,
  Operation,
  Public,
  Resource,
} from '../../platform/auth/access-decorators.js';
import { ApiError } from '../../platform/errors.js';
import { ApiJsonResponse } from '../../platform/http/api-answers.js';
import { Context, Ctx } from '../../platform/http/context.js';
import { DescribesTools, McpAnswerDto, McpMessageDto } from './mcp.dto.js';
import { McpService } from './mcp.service.js';

/** Most bytes of a message. The longest arguments fit, because the literals of a query have at most 1 MiB. */
export const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;

@DescribesTools()
@Resource('mcp', BasicOrBearerAuth(), 'mcp')
export class McpController {
  constructor(private readonly mcp: McpService) {}

  /**
   * Receives one message of the Model Context Protocol (streamable HTTP, without sessions). A failure of a tool is
   * answered as a result.
   */
  @Operation('', 'reader')
  @NoProjectField('each tool checks the project that its arguments name')
  @ApiJsonResponse({ type: McpAnswerDto })
  async answer(@Body() message: McpMessageDto, @Ctx() context: Context): Promise<string> {
    assertSameOrigin(context);
    if (Buffer.byteLength(context.text) > MAX_MESSAGE_BYTES)
      throw new ApiError(
        'too_large',
        `the message is over the limit of ${MAX_MESSAGE_BYTES} bytes`,
      );
    const { status, body } = await this.mcp.answer(message, context);
    context.response.statusCode = status;
    return body;
  }
}

/** Refuses the operations of the protocol for streams and sessions, which this server does not have. */
@ApiExcludeController()
@Resource('mcp', Public(), 'mcp')
export class McpSessionsController {
  @Get()
  open(): never {
    throw onlyPost();
  }

  @Delete()
  end(): never {
    throw onlyPost();
  }
}

const onlyPost = () =>
  new ApiError('method_not_allowed', 'there are no sessions and no streams here: use POST', {
    headers: { Allow: 'POST' },
  });

/**
 * Refuses pages of another origin, whatever key they send, because DNS rebinding may point their host name to this
 * service.
 */
function assertSameOrigin({ headers: { origin, host } }: Context): void {
  if (origin === undefined) return;
  if (!URL.canParse(origin) || new URL(origin).host !== host)
    throw new ApiError('forbidden', 'the header Origin names another host than the header Host');
}
