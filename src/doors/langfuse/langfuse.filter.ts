import { Catch } from '@nestjs/common';
import { type ApiError, ERRORS } from '../../platform/errors.js';
import { ErrorFilter } from '../../platform/http/error.filter.js';

/** Names of errors that SDKs of Langfuse know, keyed by HTTP status. */
const NAMES: Record<number, string> = {
  400: 'InvalidRequestError',
  401: 'UnauthorizedError',
  403: 'ForbiddenError',
  404: 'LangfuseNotFoundError',
  409: 'LangfuseConflictError',
};

/** Adds to an error what SDKs of Langfuse read from it: `message` and `error`. */
@Catch()
export class LangfuseErrorFilter extends ErrorFilter {
  protected override more({ status, code, message, details }: ApiError): object {
    const problems = details.errors?.map((one) => `${one.path} ${one.message}`.trim()).join('; ');
    return { message: problems ?? message, error: NAMES[status] ?? ERRORS[code].title };
  }
}
