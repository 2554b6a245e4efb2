import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../../platform/auth/caller.js';
import { skipValue } from '../../../platform/json/json-grammar.js';
import type { CallsService } from '../../../tracing/calls/calls.service.js';
import type { CallContext } from '../call-context.js';
import type { RecordedAnswer } from './recorded-answer.js';

interface RecordingStart {
  opName: string;
  callContext: CallContext;
  /** `inputs` and `attributes` are JSON texts. */
  inputs: string;
  attributes: string;
  /** Resolves when this process is registered in the project, which is before the start is stored. */
  registered: Promise<void>;
}

interface RecordingEnd {
  output: RecordedAnswer | null;
  exception: string | null;
  /** JSON text. */
  summary: string;
}

/** Stores the call of one request. */
export class Recording {
  readonly id = uuidv7();
  private readonly startedAt = new Date().toISOString();
  private isStarted = false;

  constructor(
    private readonly calls: CallsService,
    private readonly caller: Caller,
    private readonly started: RecordingStart,
  ) {}

  /** Resolves when the start is committed. */
  async start(): Promise<void> {
    const { inputs, attributes, registered } = this.started;
    await registered;
    const text = `{"start":{"attributes":${attributes},"inputs":${inputs}}}`;
    await this.calls.start(this.startFields, text, this.caller, this.movesTurn);
    this.isStarted = true;
    await this.settleTurn();
  }

  /** Resolves when the end is committed, and the start too if it was not stored before. */
  async end({ output, exception, summary }: RecordingEnd): Promise<void> {
    const { inputs, attributes, callContext } = this.started;
    const documents = { output: isStorable(output) ? output.text : 'null', summary };
    const end = {
      project_id: callContext.projectId,
      id: this.id,
      ended_at: new Date().toISOString(),
      exception: exception?.replace(/[\0\p{Cs}]/gu, '\ufffd') ?? null,
      output: output?.value,
      summary: JSON.parse(summary) as object,
    };
    if (this.isStarted) {
      const text = `{"end":{"summary":${summary},"output":${documents.output}}}`;
      return this.calls.end(end, text, this.caller);
    }
    const whole = {
      call: { ...this.startFields, ...end },
      documents: { ...documents, inputs, attributes },
      movesTurn: this.movesTurn,
    };
    const [answer] = await this.calls.storeCalls([whole], this.caller);
    if (answer && 'error' in answer) throw new Error(answer.error.detail);
    await this.settleTurn();
  }

  /** True when the client names no turn. The turn is then the topmost call of the trace that is stored. */
  private get movesTurn(): boolean {
    return this.started.callContext.turnId === null;
  }

  private async settleTurn(): Promise<void> {
    const { projectId, traceId, parentId, threadId } = this.started.callContext;
    if (traceId !== null && parentId !== null && threadId !== null && this.movesTurn)
      await this.calls.settleTurns(projectId, [traceId], this.caller.owner);
  }

  private get startFields() {
    const { opName, callContext } = this.started;
    const { projectId, traceId, parentId, threadId, turnId } = callContext;
    const isTurn = threadId !== null && parentId === null;
    return {
      project_id: projectId,
      id: this.id,
      op_name: opName,
      started_at: this.startedAt,
      trace_id: traceId,
      parent_id: parentId,
      thread_id: threadId,
      turn_id: turnId ?? (isTurn ? this.id : null),
    };
  }
}

/** Returns false for an answer that is nested too deeply to be stored. */
function isStorable(output: RecordedAnswer | null): output is RecordedAnswer {
  try {
    return output !== null && skipValue(output.text, 0, 1) > 0;
  } catch {
    return false;
  }
}
