import { Catch } from '@nestjs/common';
import type { Response } from 'express';
import { type ApiError, ERRORS } from '../../platform/errors.js';
import { ErrorFilter, PROBLEM_JSON, problem } from '../../platform/http/error.filter.js';

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
  protected override send(error: ApiError, response: Response): void {
    const { errors, headers } = error.details;
    const where = errors?.map(({ path, message }) => `${path} ${message}`.trim()).join('; ');
    const body = {
      ...problem(error, response.req.id),
      message: where ?? error.message,
      error: NAMES[error.status] ?? ERRORS[error.code].title,
    };
    response
      .status(error.status)
      .set({ ...headers, 'Content-Type': PROBLEM_JSON })
      .send(JSON.stringify(body));
  }
}
