import { Injectable } from '@nestjs/common';
import type { Context } from '../../platform/http/context.js';
import { AdmissionStage } from './admission/admission.stage.js';
import type { GatewayExchange, ModelRequest, WholeAnswer } from './gateway-exchange.js';
import { CallEndStage } from './recording/call-end.stage.js';
import { CallStartStage } from './recording/call-start.stage.js';
import { failedAnswer, RelayingStage } from './relaying/relaying.stage.js';
import { sendRequest } from './sending/sending.stage.js';

/**
 * Sends requests for models to providers, and records each one as a call. The stages of a request are: admit, store
 * the start of the call, send, relay the answer, store the end of the call.
 */
@Injectable()
export class GatewayService {
  constructor(
    private readonly admission: AdmissionStage,
    private readonly callStart: CallStartStage,
    private readonly relaying: RelayingStage,
    private readonly callEnd: CallEndStage,
  ) {}

  /**
   * Sends a request to its provider. A stream is relayed to the client, and null is returned when it has ended.
   * @throws ProviderRefusal when the provider refused and the refusal is recorded; ApiError
   */
  async ask(request: ModelRequest, context: Context): Promise<WholeAnswer | null> {
    const startedMs = performance.now();
    return this.admission.run(request, context, async (target) => {
      const memory = context.bodies.budget.hold(context.caller.owner);
      const admitted = { request, context, target, startedMs, memory };
      try {
        return await this.callStart.prepare(admitted, (recording) =>
          this.exchange({ ...admitted, recording }),
        );
      } finally {
        memory.release();
      }
    });
  }

  private async exchange(exchange: GatewayExchange): Promise<WholeAnswer | null> {
    const [started, sent] = await this.startAndSend(exchange);
    if (started.status === 'rejected') {
      if (sent.status === 'fulfilled') sent.value.answer.destroy();
      throw started.reason;
    }
    const relayed =
      sent.status === 'fulfilled'
        ? await this.relaying.run(exchange, sent.value)
        : failedAnswer(exchange, sent.reason as Error);
    try {
      await this.callEnd.run(exchange, relayed.outcome);
    } catch (error) {
      if (!relayed.breakOff) throw error;
      return relayed.breakOff(error);
    }
    return relayed.finish();
  }

  /**
   * The request is sent while the start of the call is being stored. It waits only if the previous start was not
   * stored: then nobody might receive the tokens that are paid for.
   */
  private async startAndSend(exchange: GatewayExchange) {
    const mayHurry = this.callStart.hasStored;
    const failure = new AbortController();
    const started = this.callStart.run(exchange);
    if (!mayHurry) await started;
    started.catch(() => failure.abort());
    return Promise.allSettled([started, sendRequest(exchange, failure.signal)]);
  }
}
