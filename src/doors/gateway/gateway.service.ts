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

/** The refusal of a provider is short. */
const MAX_REFUSAL_BYTES = 1024 * 1024;
/** What a client is told of the head of a provider's answer. */
const PASSED_HEADERS = ['retry-after', 'retry-after-ms', 'x-should-retry'];
/** Tells a client its call. */
export const CALL_HEADER = 'x-skein-call-id';
/** The objects that completions say they are. */
const OBJECTS = { 'chat/completions': 'chat.completion', completions: 'text_completion' };

/** A request for a model. */
export interface ModelRequest {
  api: GatewayApi;
  opName: string;
  /** As it was sent, and its parsed copy. */
  text: string;
  body: JsonObject & { model: string };
  placement: CallContext;
  record: RecordMode;
  /** What is recorded as inputs, where that is not the request. */
  inputs?: string;
  /** How a stream goes on to the client. */
  passage: (hidesUsage: boolean) => StreamTransform;
  /** Where it goes, where the name does not tell. */
  target?: ModelTarget;
}

/** An answer that did not come as a stream. */
export interface WholeAnswer {
  type: string;
  bytes: Buffer;
  isJson: boolean;
}

/** What goes with one request on its way. */
interface GatewayExchange {
  request: ModelRequest;
  context: Context;
  target: ModelTarget;
  recording: Recording | null;
  isRequired: boolean;
  startedMs: number;
  /** The memory that it takes to read the answer. */
  reading: BodyReservation;
}

interface ExchangeOutcome {
  output: RecordedAnswer | null;
  exception: string | null;
  /** False where the provider has done nothing. */
  isSpent?: boolean;
}

/** Passes requests for models to providers, and records each as a call. */
@Injectable()
export class GatewayService implements OnApplicationShutdown {
  @Inject(CONFIG) private readonly config!: Config;
  @Inject() private readonly room!: ConcurrencyService;
  @Inject() private readonly processes!: ProcessesService;
  /** Whether the database stored the start of the last call. */
  private hasStored = false;
  /** Records that nobody waits for. */
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
   * Asks the provider. A stream goes to the client as it comes, and null is answered when it has ended.
   * @throws ProviderRefusal what a provider refuses, when it is recorded; ApiError
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

  /** Resolves when the start is committed, or need not be. */
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
    begun.catch(() => {}); // the end stores the start as well, or tells
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
   * The head of the provider's answer, and what takes the key out of it, when the start of the call is committed. The provider
   * is asked meanwhile, unless the database has refused the start before: then tokens would be paid for that nobody gets.
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

  /** The head of the provider's answer. @throws ApiError, or the reason for which the question was given up */
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

  /** Ends the call of a request that has no answer; answers the error that tells the client. */
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

  /** What a provider refuses goes to the client, unless it is the key of the operator that it does not want. */
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

  /** Passes a stream on, and ends the call before the client gets the last of it. */
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
    setImmediate(() => response.flushHeaders()); // with the first bytes, where these are there already
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

  /** What is incomplete must not look complete. */
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

  /** Ends the call. Where the record is not required, what fails is told in the log. */
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

  /** Stores the end of the call, if it has one, and charges the key for what was used, whether that is stored or not. */
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

/** The completion that a stream was, as far as it came, and why it is not whole. */
async function streamOutcome(
  { bytes, fault }: RelayResult,
  reading: StreamReader | null,
  hold: BodyReservation,
): Promise<ExchangeOutcome> {
  const output = reading && bytes ? await reading.end(bytes, hold) : null;
  return { output, exception: fault ?? output?.error ?? (bytes ? null : NOT_KEPT) };
}

/** An answer that does not come as a stream. */
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
