import { Injectable } from '@nestjs/common';
import { memberTexts, objectText } from '../../../platform/json/json-text.js';
import { CallsService } from '../../../tracing/calls/calls.service.js';
import { CALL_HEADER, type GatewayExchange, isRecordRequired } from '../gateway-exchange.js';
import { recordedInputs } from '../gateway-request.js';
import { ProcessesService } from './processes.service.js';
import { Recording } from './recording.js';

type AdmittedExchange = Omit<GatewayExchange, 'recording'>;

/** Stores the start of a call. */
@Injectable()
export class CallStartStage {
  /** True when the database stored the start of the last call. */
  hasStored = false;

  constructor(
    private readonly calls: CallsService,
    private readonly processes: ProcessesService,
  ) {}

  /** Runs `work` with the recording of its call. The call is ended by another process if this one is killed. */
  prepare<T>(
    admitted: AdmittedExchange,
    work: (recording: Recording | null) => Promise<T>,
  ): Promise<T> {
    const { record, callContext } = admitted.request;
    if (record === 'none') return work(null);
    return this.processes.run(callContext.projectId, (registered) =>
      work(this.newRecording(admitted, registered)),
    );
  }

  /** Resolves when the start is committed, or at once when recording is not required. */
  async run(exchange: GatewayExchange): Promise<void> {
    const { recording, context } = exchange;
    if (!recording) return;
    context.response.setHeader(CALL_HEADER, recording.id);
    const stored = recording.start().then(
      () => void (this.hasStored = true),
      (error: unknown) => {
        this.hasStored = false;
        throw error;
      },
    );
    if (isRecordRequired(exchange)) return stored;
    stored.catch(() => {}); // the end stores the start too, or logs that the call is not recorded
  }

  private newRecording(
    { request, target, context }: AdmittedExchange,
    registered: Promise<void>,
  ): Recording {
    const { opName, callContext, text, body, inputs } = request;
    const gateway = {
      provider: target.provider.name,
      model: target.model,
      process: this.processes.id,
    };
    const attributes = memberTexts(callContext.attributes).set('gateway', JSON.stringify(gateway));
    return new Recording(this.calls, context.caller, {
      opName,
      callContext,
      inputs: inputs ?? recordedInputs(text, body),
      attributes: objectText(attributes),
      registered,
    });
  }
}
