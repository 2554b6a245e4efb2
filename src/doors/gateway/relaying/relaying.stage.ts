import type { ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../../platform/config/config.js';
import { ApiError, toApiError } from '../../../platform/errors.js';
import type { BodyReservation } from '../../../platform/http/body-budget.js';
import { listCauses } from '../../../platform/http/external-fetch.js';
import { logger } from '../../../platform/process/logger.js';
import {
  type ExchangeOutcome,
  type GatewayExchange,
  isRecordRequired,
  type WholeAnswer,
} from '../gateway-exchange.js';
import { ADAPTERS } from '../providers/adapters.js';
import { errorMessage, readWholeAnswer, type StreamReader } from '../recording/recorded-answer.js';
import { providerFailed, ProviderRefusal } from '../sending/provider-client.js';
import type { ProviderAnswer } from '../sending/sending.stage.js';
import { relay, type RelayOptions, type RelayResult } from './relay.js';

const MAX_REFUSAL_BYTES = 1024 * 1024;
/** Headers of a provider's error response that are forwarded to the client. */
const PASSED_HEADERS = ['retry-after', 'retry-after-ms', 'x-should-retry'];
const NOT_KEPT = 'there was no memory to record the answer';

/** The end of an exchange. `outcome` is stored before the client receives the end of the answer. */
export interface RelayedAnswer {
  outcome: ExchangeOutcome;
  /**
   * Completes a stream and returns null, or returns a whole answer.
   * @throws the error for the client
   */
  finish: () => WholeAnswer | null;
  /** Breaks off a stream whose call could not be stored. */
  breakOff?: (error: unknown) => null;
}

/** Relays the answer of a provider, except for its end. */
@Injectable()
export class RelayingStage {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  async run(exchange: GatewayExchange, sent: ProviderAnswer): Promise<RelayedAnswer> {
    const { provider } = exchange.target;
    const { statusCode, headers } = sent.answer;
    const status = statusCode!;
    if (status >= 400) return this.relayRefusal(exchange, sent);
    if (status >= 300 || headers['content-encoding'] !== undefined) {
      sent.answer.destroy();
      const what =
        status >= 300 ? `answered ${status}, which is not followed` : 'compressed its answer';
      return failedAnswer(exchange, providerFailed(provider, what));
    }
    exchange.context.response.setHeader('x-skein-provider', provider.name);
    return headers['content-type']?.startsWith('text/event-stream')
      ? this.relayStream(exchange, sent)
      : this.readWhole(exchange, sent);
  }

  /** The client gets the refusal as it came. A 401 is about the operator's key and is not forwarded. */
  private async relayRefusal(
    exchange: GatewayExchange,
    sent: ProviderAnswer,
  ): Promise<RelayedAnswer> {
    const { provider } = exchange.target;
    const { answer, redactor } = sent;
    const status = answer.statusCode!;
    const { bytes } = await this.relay(exchange, sent, { maxBytes: MAX_REFUSAL_BYTES });
    if (status === 401)
      return failedAnswer(exchange, providerFailed(provider, 'refuses the key that Skein sends'));
    const body = Buffer.from(redactor.text((bytes ?? Buffer.alloc(0)).toString('utf8')));
    const output = await readWholeAnswer(body, exchange.memory);
    const message = errorMessage(output.value);
    const exception = `the provider ${provider.name} answered ${status}${message === null ? '' : `: ${redactor.text(message)}`}`;
    const headers = PASSED_HEADERS.flatMap((name) => {
      const value = answer.headers[name];
      return typeof value === 'string' ? [[name, redactor.text(value)] as const] : [];
    });
    const refusal = new ProviderRefusal(exception, {
      status,
      type: contentType(sent),
      body,
      headers: Object.fromEntries(headers),
    });
    return { outcome: { output, exception, isBillable: false }, finish: thrower(refusal) };
  }

  private async readWhole(exchange: GatewayExchange, sent: ProviderAnswer): Promise<RelayedAnswer> {
    const { bytes, fault } = await this.relay(exchange, sent);
    if (fault !== null) {
      const output =
        bytes && bytes.length > 0 ? await readWholeAnswer(bytes, exchange.memory) : null;
      const error = new ApiError('provider_failed', fault);
      return { outcome: { output, exception: fault }, finish: thrower(error) };
    }
    const output = await readWholeAnswer(bytes!, exchange.memory);
    const { error } = output;
    const whole = { type: contentType(sent), bytes: bytes!, isJson: error === null };
    return { outcome: { output, exception: error }, finish: () => whole };
  }

  /** When recording is required, the client receives the last event only after the call is stored. */
  private async relayStream(
    exchange: GatewayExchange,
    sent: ProviderAnswer,
  ): Promise<RelayedAnswer> {
    const { request, context, target, recording, memory } = exchange;
    const { response } = context;
    const api = ADAPTERS[target.provider.engine].apis[request.api];
    const transform =
      request.newTransform?.(recording?.id ?? null) ?? api.newTransform(request.body);
    response.writeHead(200, { 'content-type': transform.contentType, 'cache-control': 'no-cache' });
    if (transform.head) response.write(transform.head);
    setImmediate(() => response.flushHeaders()); // sends the headers with the first bytes if these are here
    const isRead = recording !== null || this.config.gatewayCostPerDay > 0;
    const reader = isRead ? api.newReader() : null;
    const relayed = await this.relay(exchange, sent, { transform, reader });
    const { fault, clientLeft } = relayed;
    const outcome = await streamOutcome(relayed, reader, memory);
    const rest = transform.rest();
    const isRequired = isRecordRequired(exchange);
    context.disconnectUnread();
    if (!isRequired && fault === null) response.write(rest);
    return {
      outcome,
      finish: () => {
        if (clientLeft) response.destroy();
        else if (fault !== null) cut(response, transform.failure(fault));
        else if (isRequired) response.end(rest);
        else response.end();
        return null;
      },
      breakOff: (error) => {
        logger.error({ request_id: context.request.id, err: error }, 'a stream was cut');
        cut(response, transform.failure(toApiError(error).message));
        return null;
      },
    };
  }

  private relay(
    exchange: GatewayExchange,
    { answer, redactor }: ProviderAnswer,
    options: Partial<RelayOptions> = {},
  ): Promise<RelayResult> {
    const { response, hold, caller } = exchange.context;
    return relay(answer, response, {
      provider: exchange.target.provider,
      maxBytes: this.config.gatewayMaxAnswerBytes,
      redactor,
      hold,
      mayForget: options.transform !== undefined && !isRecordRequired(exchange),
      assertValid: () => caller.assertValid(),
      ...options,
    });
  }
}

async function streamOutcome(
  { bytes, fault }: RelayResult,
  reader: StreamReader | null,
  memory: BodyReservation,
): Promise<ExchangeOutcome> {
  const output = reader && bytes ? await reader.end(bytes, memory) : null;
  return { output, exception: fault ?? output?.error ?? (bytes ? null : NOT_KEPT) };
}

/** Returns the end of an exchange without an answer. `error` is recorded, and thrown for the client. */
export function failedAnswer({ context }: GatewayExchange, error: Error): RelayedAnswer {
  if (error.cause !== undefined)
    logger.warn({ request_id: context.request.id, causes: listCauses(error) }, 'a provider failed');
  const isBillable = context.signal.aborted;
  return {
    outcome: { output: null, exception: error.message, isBillable },
    finish: thrower(error),
  };
}

/** An incomplete answer must not look complete. */
function cut(response: ServerResponse, failure: string): void {
  response.write(failure, () => response.destroy());
}

const thrower = (error: Error) => (): never => {
  throw error;
};

const contentType = ({ answer, redactor }: ProviderAnswer) =>
  redactor.text(answer.headers['content-type'] ?? 'application/json');
