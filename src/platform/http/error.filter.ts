import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { warnSeldom } from '../process/warn-seldom.js';
import { ownerEntity } from '../process/fair-queue.js';
import { noteDiskRefusal } from './disk-refusals.js';
import { refusalWaitMs } from './refusal-pace.js';
import { ApiError, ERRORS, ERRORS_PATH, toApiError } from '../errors.js';

export const PROBLEM_JSON = 'application/problem+json';

/**
 * Answers every exception as RFC 9457 problem details. A 5xx is logged once, with its cause; a 4xx is not logged. A 503
 * is expected under load or without a database and may occur thousands of times. It is logged as a line without a
 * stack, at a limited rate.
 */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('errors');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    if (response.destroyed) {
      response.end(); // the client has gone; this only marks the handler as done
      return;
    }
    logFailure(thrown, request, this.logger);
    if (response.headersSent) {
      response.destroy(); // an interrupted stream must not look complete
      return;
    }
    const error = toApiError(thrown);
    const send = () => this.send(error, response);
    if (error.details.isOverLimit && request.user)
      request.context.answerAfter(refusalWaitMs(ownerEntity(request.user.owner)), send);
    else send();
  }

  protected send(error: ApiError, response: Response): void {
    sendProblem(error, response, this.more(error));
  }

  /** Returns further members of the problem document, for clients of another API. */
  protected more(_error: ApiError): object {
    return {};
  }
}

/** Logs an error that a client receives as a 5xx, also when it is only a part of an answer. */
export function logFailure(
  thrown: unknown,
  { id, path }: Pick<Request, 'id' | 'path'>,
  logger: Logger,
): void {
  noteDiskRefusal(thrown);
  const error = toApiError(thrown);
  // A deliberate refusal has no cause, so probes of a service that is not ready are not logged each time.
  const cause = thrown instanceof ApiError ? error.cause : thrown;
  if (error.status < 500 || !cause) return;
  const { code, message } = error;
  if (code !== 'unavailable') return logger.error({ request_id: id, path, err: cause });
  const { message: why, code: state } = Object(cause) as { message?: string; code?: string };
  warnSeldom(`a request was answered 503: ${message}`, { request_id: id, path, why, code: state });
}

/** Answers an error. Middleware that runs before Nest's filters calls it directly. */
export function sendProblem(error: ApiError, response: Response, more: object = {}): void {
  response
    .status(error.status)
    .set({ ...error.details.headers, 'Content-Type': PROBLEM_JSON })
    .send(JSON.stringify({ ...problem(error, response.req.id), ...more }));
}

export function problem(error: ApiError, requestId: string) {
  const { code, message, status, details } = error;
  return {
    type: `/${ERRORS_PATH}#${code}`,
    title: ERRORS[code].title,
    status,
    detail: message,
    code,
    ...details.extra,
    ...(details.errors && { errors: details.errors }),
    request_id: requestId,
  };
}
