import { type ArgumentsHost, Catch } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import type { ApiError, ErrorCode } from '../../platform/errors.js';
import { ErrorFilter } from '../../platform/http/error.filter.js';
import { ProviderRefusal } from './sending/provider-client.js';

/** Error types of OpenAI's API, keyed by HTTP status. */
const TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'invalid_request_error',
  429: 'rate_limit_error',
};

/** Answers errors in OpenAI's shape, and forwards refusals of providers unchanged. */
@Catch()
export class GatewayErrorFilter extends ErrorFilter {
  override catch(thrown: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<ServerResponse>();
    if (!(thrown instanceof ProviderRefusal) || response.headersSent || response.destroyed)
      return super.catch(thrown, host);
    const { status, type, body, headers } = thrown.refused;
    response.writeHead(status, { ...headers, 'content-type': type });
    response.end(body);
  }

  protected override send(error: ApiError, response: ServerResponse): void {
    const { status, message, details } = error;
    const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');
    const code = (details.extra?.['openai'] ?? error.code) as ErrorCode;
    const param = details.errors?.[0]?.path ?? null;
    const body = JSON.stringify({ error: { message, type, param, code } });
    response.writeHead(status, { ...details.headers, 'content-type': 'application/json' });
    response.end(body);
  }
}
