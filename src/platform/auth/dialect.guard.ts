import type { IncomingMessage } from 'node:http';
import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  UseGuards,
} from '@nestjs/common';
import { ApiError } from '../errors.js';
import { otherDialect, WIRE } from '../http/wire-names.js';

/** The generated clients of the dialect `weave`, in Python and JavaScript. */
const WEAVE = /^(?:Async)?WeaveTrace\//;

/**
 * Requests may use either spelling of names, but answers have the one in force. A client that is known to read the other one
 * would take what it does not find for absent, so it is told instead.
 */
@Injectable()
class DialectGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<IncomingMessage>();
    if (WIRE.scheme !== 'weave' && WEAVE.test(headers['user-agent'] ?? ''))
      throw new ApiError('invalid_request', otherDialect('the client weave reads this answer'));
    return true;
  }
}

/** The answer of the route has names or refs that clients look up and that `WIRE_DIALECT` spells. */
export const AnswersInDialect = () => applyDecorators(UseGuards(DialectGuard));
