import type { IncomingMessage } from 'node:http';
import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  UseGuards,
} from '@nestjs/common';
import { ApiError } from '../errors.js';
import { otherDialect, wire } from '../http/wire-names.js';

/** User agents of the generated clients of the dialect `weave`, in Python and JavaScript. */
const WEAVE = /^(?:Async)?WeaveTrace\//;

/**
 * Refuses known clients of the other dialect. Requests may use either spelling of names, but answers use only the
 * configured one. Such a client would treat the names that it does not find as absent.
 */
@Injectable()
class DialectGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<IncomingMessage>();
    if (wire().scheme !== 'weave' && WEAVE.test(headers['user-agent'] ?? ''))
      throw new ApiError('invalid_request', otherDialect('the client weave reads this answer'));
    return true;
  }
}

/** Marks a route whose answer contains names or refs that clients look up and that `WIRE_DIALECT` spells. */
export const AnswersInDialect = () => applyDecorators(UseGuards(DialectGuard));
