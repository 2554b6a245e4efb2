import type { BodyReservation } from '../../platform/http/body-budget.js';
import type { Context } from '../../platform/http/context.js';
import type { ModelTarget } from './admission/model-names.service.js';
import type { CallContext, RecordMode } from './call-context.js';
import type { JsonObject } from './gateway-request.js';
import type { RecordedAnswer } from './recording/recorded-answer.js';
import type { Recording } from './recording/recording.js';
import type { StreamTransform } from './relaying/event-stream.js';

/** The response header that names the recorded call. */
export const CALL_HEADER = 'x-skein-call-id';

/** The APIs of the gateway, by their paths below `/v1`. */
export type GatewayApi = 'chat/completions' | 'completions' | 'responses';

export interface ModelRequest {
  api: GatewayApi;
  opName: string;
  /** The request body as it was sent; `body` is its parsed copy. */
  text: string;
  body: JsonObject & { model: string };
  callContext: CallContext;
  record: RecordMode;
  /** JSON text to record as the inputs; by default the request. */
  inputs?: string;
  /** Returns the transform of a stream for the client; by default that of the API. */
  newTransform?: (callId: string | null) => StreamTransform;
  /** Provider and model, when the name of the model does not determine them. */
  target?: ModelTarget;
}

export interface WholeAnswer {
  type: string;
  bytes: Buffer;
  isJson: boolean;
}

/** An admitted request, as the stages receive it. */
export interface GatewayExchange {
  request: ModelRequest;
  context: Context;
  target: ModelTarget;
  /** Null when the request is not recorded. */
  recording: Recording | null;
  startedMs: number;
  /** Memory that is reserved to parse the answer. */
  memory: BodyReservation;
}

/** The data that the end of a call stores. */
export interface ExchangeOutcome {
  output: RecordedAnswer | null;
  exception: string | null;
  /** False when the provider charges nothing for the request. */
  isBillable?: boolean;
}

/** True when the client must receive no answer that is not recorded. */
export const isRecordRequired = ({ request }: GatewayExchange): boolean =>
  request.record === 'required';
