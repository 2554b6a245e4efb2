import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.js';
import type { Context } from '../../platform/http/context.js';
import { listCauses } from '../../platform/http/external-fetch.js';
import { ApiError, toApiError } from '../../platform/errors.js';
import { memberTexts, objectText } from '../../platform/json/json-text.js';
import { logger } from '../../platform/process/logger.js';
import { registerCounter } from '../../platform/process/metrics.js';
import { CallsService } from '../../tracing/calls/calls.service.js';
import type { BodyReservation } from '../../platform/http/body-budget.js';
import {
  addedMembers,
  type GatewayApi,
  assertOneModel,
  type JsonObject,
  recordedInputs,
  withMembers,
} from './gateway-request.js';
import { SecretRedactor } from './secret-redactor.js';
import { BudgetsService } from './budgets.service.js';
import { ModelNamesService, type ModelTarget } from './model-names.service.js';
import { ProcessesService } from './processes.service.js';
import type { StreamTransform } from './stream-transforms.js';
import type { CallContext, RecordMode } from './call-context.js';
import { ProviderKeys } from './provider-keys.service.js';
import {
  errorMessage,
  type RecordedAnswer,
  readWholeAnswer,
  Recording,
  answerUsage,
  type StreamReader,
  CompletionStreamReader,
} from './recording.js';
import { disconnectUnreadClient, relay, type RelayResult, type RelayOptions } from './relay.js';
import { ResponseStreamReader } from './response-stream.js';
import { ConcurrencyService } from './concurrency.service.js';
import { requestProvider, providerFailed, ProviderRefusal } from './provider-client.js';

const MAX_REFUSAL_BYTES = 1024 * 1024;
/** Headers of a provider's error response that are forwarded to the client. */
const PASSED_HEADERS = ['retry-after', 'retry-after-ms', 'x-should-retry'];
export const CALL_HEADER = 'x-skein-call-id';
/** The `object` member of completions, keyed by API. */
const OBJECTS = { 'chat/completions': 'chat.completion', completions: 'text_completion' };

export interface ModelRequest {
  api: GatewayApi;
  opName: string;
  /** The request body as it was sent; `body` is its parsed copy. */
  text: string;
  body: JsonObject & { model: string };
  placement: CallContext;
  record: RecordMode;
  /** JSON text to record as the inputs; by default the request. */
  inputs?: string;
  /** Returns the transform that is applied to a stream before it reaches the client. */
  passage: (hidesUsage: boolean) => StreamTransform;
  /** Provider and model, when the name of the model does not determine them. */
  target?: ModelTarget;
}

export interface WholeAnswer {
  type: string;
  bytes: Buffer;
  isJson: boolean;
}

interface GatewayExchange {
  request: ModelRequest;
  context: Context;
  target: ModelTarget;
  recording: Recording | null;
  isRequired: boolean;
  startedMs: number;
  /** Memory that is reserved to parse the answer. */
  reading: BodyReservation;
}

interface ExchangeOutcome {
  output: RecordedAnswer | null;
  exception: string | null;
  /** False when the provider did no billable work. */
  isSpent?: boolean;
}

/** Sends requests for models to providers, and records each one as a call. */
@Injectable()
export class GatewayService implements OnApplicationShutdown {
  @Inject(CONFIG) private readonly config!: Config;
  @Inject() private readonly room!: ConcurrencyService;
  @Inject() private readonly processes!: ProcessesService;
  /** True when the database stored the start of the last call. */
  private hasStored = false;
  /** Ends of calls that are being stored while no request waits for them. */
  private readonly pending = new Set<Promise<unknown>>();
  private readonly unrecorded = registerCounter(
    'skein_gateway_unrecorded_total',
    'Requests to models that passed although they could not be recorded.',
    [],
  );

  constructor(
    private readonly names: ModelNamesService,
    private readonly keys: ProviderKeys,
    private readonly budgets: BudgetsService,
    private readonly calls: CallsService,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.pending);
  }

  /**
   * Sends a request to its provider. A stream is relayed to the client, and null is returned when it has ended.
   * @throws ProviderRefusal when the provider refused and the refusal is recorded; ApiError
   */
  async ask(request: ModelRequest, context: Context): Promise<WholeAnswer | null> {
    const startedMs = performance.now();
    const { caller } = context;
    const { placement, record } = request;
    assertOneModel(request.body);
    const target =
      request.target ?? (await this.names.find(request.body.model, placement.projectId, caller));
    return this.room.run(caller.owner, context.signal, async () => {
      await this.budgets.admit(caller);
      const isRequired = record === 'required';
      const reading = context.bodies.budget.hold(caller.owner);
      const trip = { request, context, target, isRequired, startedMs, reading };
      try {
        if (record === 'none') return await this.travel({ ...trip, recording: null });
        return await this.processes.run(placement.projectId, (known) =>
          this.travel({ ...trip, recording: this.newRecording(request, target, context, known) }),
        );
      } finally {
        reading.release();
      }
    });
  }

  private newRecording(
    { opName, placement, text, body, inputs }: ModelRequest,
    target: ModelTarget,
    context: Context,
    mayBegin: Promise<void>,
  ) {
    const gateway = {
      provider: target.provider.name,
      model: target.model,
      process: this.processes.id,
    };
    const attributes = memberTexts(placement.attributes).set('gateway', JSON.stringify(gateway));
    return new Recording(this.calls, context.caller, {
      opName,
      placement,
      inputs: inputs ?? recordedInputs(text, body),
      attributes: objectText(attributes),
      mayBegin,
    });
  }

  /** Resolves when the start is committed, or at once when recording is not required. */
  private async begin({ recording, isRequired, context }: GatewayExchange): Promise<void> {
    if (!recording) return;
    context.response.setHeader(CALL_HEADER, recording.id);
    const begun = recording.begin().then(
      () => void (this.hasStored = true),
      (error: unknown) => {
        this.hasStored = false;
        throw error;
      },
    );
    if (isRequired) return begun;
    begun.catch(() => {}); // the end stores the start too, or logs that the call is not recorded
  }

  private async travel(trip: GatewayExchange): Promise<WholeAnswer | null> {
    const { request, context } = trip;
    const { engine } = trip.target.provider;
    const added = addedMembers(request.body, { engine, api: request.api, text: request.text });
    const { answer, blot } = await this.begunAnswer(trip, added.members);
    const status = answer.statusCode!;
    if (status >= 400) throw await this.refused(trip, answer, blot);
    if (status >= 300 || answer.headers['content-encoding'] !== undefined) {
      answer.destroy();
      const what =
        status >= 300 ? `answered ${status}, which is not followed` : 'compressed its answer';
      throw await this.failed(trip, providerFailed(trip.target.provider, what));
    }
    const isStream = (answer.headers['content-type'] ?? '').startsWith('text/event-stream');
    context.response.setHeader('x-skein-provider', trip.target.provider.name);
    return isStream
      ? this.passOn(trip, answer, { blot, passage: request.passage(added.hidesUsage) })
      : this.takeWhole(trip, answer, blot);
  }

  /**
   * Returns the head of the provider's answer once the start of the call is committed. The request is sent to the
   * provider at the same time. It waits only if the previous start was not stored: then nobody might receive the tokens
   * that are paid for.
   */
  private async begunAnswer(trip: GatewayExchange, members: Map<string, string>) {
    const leaving = new AbortController();
    const mayHurry = this.hasStored;
    const begun = this.begin(trip);
    if (!mayHurry) await begun;
    begun.catch(() => leaving.abort());
    const asked = this.firstOf(trip, members, leaving);
    const [start, answer] = await Promise.allSettled([begun, asked]);
    if (start.status === 'rejected') {
      if (answer.status === 'fulfilled') answer.value.answer.destroy();
      throw start.reason;
    }
    if (answer.status === 'rejected') throw await this.failed(trip, answer.reason as Error);
    return answer.value;
  }

  /**
   * Returns the head of the provider's answer, and a redactor of the provider's key.
   * @throws ApiError, or the reason why the request was aborted
   */
  private async firstOf(
    { request, context, target }: GatewayExchange,
    members: Map<string, string>,
    leaving: AbortController,
  ) {
    const leave = () => leaving.abort(new Error('the client left before the answer began'));
    if (context.signal.aborted) leave();
    context.signal.addEventListener('abort', leave);
    try {
      const key = await this.keys.read(target.provider);
      if (target.model !== request.body.model) members.set('model', JSON.stringify(target.model));
      const body = Buffer.from(withMembers(request.text, members));
      const headers = questionHeaders(context, key);
      const question = { api: request.api, body, headers, signal: leaving.signal };
      return {
        answer: await requestProvider(target.provider, question),
        blot: new SecretRedactor(key),
      };
    } finally {
      context.signal.removeEventListener('abort', leave);
    }
  }

  /** Ends the call of a request that got no answer. Returns the error for the client. */
  private async failed(trip: GatewayExchange, error: Error): Promise<Error> {
    if (error.cause !== undefined)
      logger.warn(
        { request_id: trip.context.request.id, causes: listCauses(error) },
        'a provider failed',
      );
    const isSpent = trip.context.signal.aborted;
    await this.end(trip, { output: null, exception: error.message, isSpent });
    return error;
  }

  /**
   * Records the refusal of a provider and returns it for the client. A 401 is about the operator's key and is not
   * forwarded.
   */
  private async refused(
    trip: GatewayExchange,
    answer: IncomingMessage,
    blot: SecretRedactor,
  ): Promise<Error> {
    const { provider } = trip.target;
    const status = answer.statusCode!;
    const ways = { ...UNSTREAMED, blot, maxBytes: MAX_REFUSAL_BYTES };
    const { bytes } = await this.relayed(trip, answer, ways);
    if (status === 401)
      return this.failed(trip, providerFailed(provider, 'does not take the key that it is sent'));
    const body = Buffer.from(blot.text((bytes ?? Buffer.alloc(0)).toString('utf8')));
    const output = await readWholeAnswer(body, trip.reading);
    const said = errorMessage(output.value);
    const exception = `the provider ${provider.name} answered ${status}${said === null ? '' : `: ${blot.text(said)}`}`;
    await this.end(trip, { output, exception, isSpent: false });
    const { headers } = answer;
    const passed = PASSED_HEADERS.flatMap((name) =>
      typeof headers[name] === 'string' ? [[name, blot.text(headers[name])] as const] : [],
    );
    return new ProviderRefusal(exception, {
      status,
      type: contentType(answer, blot),
      body,
      headers: Object.fromEntries(passed),
    });
  }

  private async takeWhole(
    trip: GatewayExchange,
    answer: IncomingMessage,
    blot: SecretRedactor,
  ): Promise<WholeAnswer> {
    const { bytes, fault } = await this.relayed(trip, answer, { ...UNSTREAMED, blot });
    if (fault !== null) {
      const output = bytes && bytes.length > 0 ? await readWholeAnswer(bytes, trip.reading) : null;
      await this.end(trip, { output, exception: fault });
      throw new ApiError('provider_failed', fault);
    }
    const output = await readWholeAnswer(bytes!, trip.reading);
    await this.end(trip, { output, exception: output.error });
    return { type: contentType(answer, blot), bytes: bytes!, isJson: output.error === null };
  }

  /** Relays a stream. When recording is required, the client receives the last event only after the call is stored. */
  private async passOn(
    trip: GatewayExchange,
    answer: IncomingMessage,
    ways: { blot: SecretRedactor; passage: StreamTransform },
  ): Promise<null> {
    const { passage } = ways;
    const { response } = trip.context;
    response.writeHead(200, { 'content-type': passage.contentType, 'cache-control': 'no-cache' });
    const first = passage.first(trip.recording?.id ?? null);
    if (first !== '') response.write(first);
    setImmediate(() => response.flushHeaders()); // sends the headers with the first bytes if these are here
    const isRead = trip.recording !== null || this.budgets.countCosts;
    const reading = isRead ? newReading(trip.request.api) : null;
    const relayed = await this.relayed(trip, answer, { ...ways, reading });
    const { fault, clientLeft } = relayed;
    const outcome = await streamOutcome(relayed, reading, trip.reading);
    const rest = passage.rest();
    disconnectUnreadClient(response);
    if (!trip.isRequired && fault === null) response.write(rest);
    try {
      await this.end(trip, outcome);
    } catch (error) {
      logger.error({ request_id: trip.context.request.id, err: error }, 'a stream was cut');
      return this.cut(trip, passage.failure(toApiError(error).message));
    }
    if (clientLeft) response.destroy();
    else if (fault !== null) return this.cut(trip, passage.failure(fault));
    else if (trip.isRequired) response.end(rest);
    else response.end();
    return null;
  }

  /** Breaks the connection off, because an incomplete answer must not look complete. */
  private cut({ context: { response } }: GatewayExchange, failure: string): null {
    response.write(failure, () => response.destroy());
    return null;
  }

  private relayed(
    { context, target, isRequired, recording }: GatewayExchange,
    answer: IncomingMessage,
    ways: Pick<RelayOptions, 'blot' | 'passage' | 'reading'> & { maxBytes?: number },
  ): Promise<RelayResult> {
    const { response, hold, caller } = context;
    const { passage } = ways;
    return relay(answer, response, {
      provider: target.provider,
      maxBytes: this.config.gatewayMaxAnswerBytes,
      ...ways,
      hold,
      mayForget: passage !== null && (!isRequired || recording === null),
      assertValid: () => caller.assertValid(),
    });
  }

  /** Ends the call. When recording is not required, a failure is only counted and logged. */
  private async end(trip: GatewayExchange, how: ExchangeOutcome): Promise<void> {
    const { isRequired, context } = trip;
    const ended = this.record(trip, how);
    if (isRequired) return ended;
    const told = ended.catch((error: unknown) => {
      this.unrecorded.inc();
      logger.error(
        { request_id: context.request.id, err: error },
        'a request to a model was not recorded',
      );
    });
    this.pending.add(told);
    void told.finally(() => this.pending.delete(told));
  }

  /** Stores the end of a recorded call. Charges the key for the usage even when storing fails. */
  private async record(
    { recording, target, context, request, startedMs }: GatewayExchange,
    { output, exception, isSpent = true }: ExchangeOutcome,
  ): Promise<void> {
    const duration_ms = Math.round(performance.now() - startedMs);
    const gateway = { duration_ms, ...(output && output.unread > 0 && { unread: output.unread }) };
    const { checkpoint: usageName, model } = target;
    try {
      await recording?.end({ output, usageName, exception, gateway });
    } finally {
      const usage = answerUsage(output, { usageName, model, text: request.text });
      const { projectId } = request.placement;
      if (isSpent) await this.budgets.charge(context.caller, projectId, usage);
    }
  }
}

const NOT_KEPT = 'there was no memory to record the answer';

const newReading = (api: GatewayApi): StreamReader =>
  api === 'responses' ? new ResponseStreamReader() : new CompletionStreamReader(OBJECTS[api]);

async function streamOutcome(
  { bytes, fault }: RelayResult,
  reading: StreamReader | null,
  hold: BodyReservation,
): Promise<ExchangeOutcome> {
  const output = reading && bytes ? await reading.end(bytes, hold) : null;
  return { output, exception: fault ?? output?.error ?? (bytes ? null : NOT_KEPT) };
}

const UNSTREAMED = { passage: null, reading: null };

function questionHeaders(
  { request, headers }: Context,
  key: string | null,
): Record<string, string> {
  const { traceparent } = headers;
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'user-agent': 'skein',
    'x-request-id': request.id,
    ...(typeof traceparent === 'string' && { traceparent }),
    ...(key !== null && { authorization: `Bearer ${key}` }),
  };
}

const contentType = ({ headers }: IncomingMessage, blot: SecretRedactor) =>
  blot.text(headers['content-type'] ?? 'application/json');
