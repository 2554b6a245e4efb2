import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../platform/auth/caller.js';
import type { BodyReservation } from '../../platform/http/body-budget.js';
import { isObject } from '../../platform/json/json-object.js';
import { skipValue } from '../../platform/json/json-grammar.js';
import { parsedBytes, parseBounded } from '../../platform/json/json-weight.js';
import { memberTexts, objectText, textsIn } from '../../platform/json/json-text.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import type { CallsService } from '../../tracing/calls/calls.service.js';
import { StreamAssembly } from '../../tracing/stream-assembly.js';
import { eventData, EventBuffer, eventPayloads } from './stream-transforms.js';
import type { CallContext } from './call-context.js';

/** An answer as it is recorded, as far as it came. */
export interface RecordedAnswer {
  /** JSON text. */
  text: string;
  /** The parsed `text`; undefined when it could not be read. */
  value: unknown;
  /** The error that the provider reported, or why the answer could not be read. */
  error: string | null;
  /** Number of events that could not be read; `chunks` is the number of those that could. */
  unread: number;
  chunks: number;
}

interface RecordingStart {
  opName: string;
  placement: CallContext;
  /** `inputs` and `attributes` are JSON texts. */
  inputs: string;
  attributes: string;
  /** Resolves when the start may be stored. */
  mayBegin: Promise<void>;
}

interface RecordingEnd {
  output: RecordedAnswer | null;
  /** The name that the usage is counted for; null for the model that the answer names. */
  usageName: string | null;
  exception: string | null;
  gateway: Record<string, unknown>;
}

/** Stores the call of one request. */
export class Recording {
  readonly id = uuidv7();
  private readonly startedAt = new Date().toISOString();
  private isBegun = false;

  constructor(
    private readonly calls: CallsService,
    private readonly caller: Caller,
    private readonly begun: RecordingStart,
  ) {}

  /** Resolves when the start is committed. */
  async begin(): Promise<void> {
    const { inputs, attributes, mayBegin } = this.begun;
    await mayBegin;
    const text = `{"start":{"attributes":${attributes},"inputs":${inputs}}}`;
    await this.calls.start(this.start, text, this.caller, this.movesTurn);
    this.isBegun = true;
    await this.settleTurn();
  }

  /** Resolves when the end is committed, and the start too if it was not stored before. */
  async end({ output, usageName, exception, gateway }: RecordingEnd): Promise<void> {
    const { projectId } = this.begun.placement;
    const documents = {
      output: isStorable(output) ? output.text : 'null',
      summary: summaryText(output, usageName, gateway),
    };
    const end = {
      project_id: projectId,
      id: this.id,
      ended_at: new Date().toISOString(),
      exception: exception?.replace(/[\0\p{Cs}]/gu, '\ufffd') ?? null,
      output: output?.value,
      summary: JSON.parse(documents.summary) as object,
    };
    if (this.isBegun) {
      const text = `{"end":{"summary":${documents.summary},"output":${documents.output}}}`;
      return this.calls.end(end, text, this.caller);
    }
    const { inputs, attributes } = this.begun;
    const whole = {
      call: { ...this.start, ...end },
      documents: { ...documents, inputs, attributes },
      movesTurn: this.movesTurn,
    };
    const [answer] = await this.calls.storeCalls([whole], this.caller);
    if (answer && 'error' in answer) throw new Error(answer.error.detail);
    await this.settleTurn();
  }

  /** True when the client names no turn. The turn is then the topmost call of the trace that is stored. */
  private get movesTurn(): boolean {
    return this.begun.placement.turnId === null;
  }

  private async settleTurn(): Promise<void> {
    const { projectId, traceId, parentId, threadId } = this.begun.placement;
    if (traceId !== null && parentId !== null && threadId !== null && this.movesTurn)
      await this.calls.settleTurns(projectId, [traceId], this.caller.owner);
  }

  private get start() {
    const { opName, placement } = this.begun;
    const { projectId, traceId, parentId, threadId, turnId } = placement;
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

function summaryText(
  output: RecordedAnswer | null,
  usageName: string | null,
  gateway: object,
): string {
  const value = isObject(output?.value) ? output.value : {};
  const members = new Map([['gateway', JSON.stringify(gateway)]]);
  const answered = typeof value['model'] === 'string' ? value['model'] : null;
  const name = usageName ?? answered;
  if (name !== null && output !== null) {
    const counts = isObject(value['usage']) ? textsIn(output.text, { usage: true })?.usage : '{}';
    const entry = new Map([['requests', '1'], ...memberTexts(counts!)]);
    members.set('usage', objectText([[name, objectText(entry)]]));
  }
  return objectText(members);
}

/** Estimated number of characters of a request per token. */
const TOKEN_LENGTH = 4;

/**
 * Returns the usage of an answer, keyed by the name of the model. An answer without usage is estimated from the length
 * of the request and the number of chunks. Otherwise a client would pay nothing when it leaves before the end.
 */
export function answerUsage(
  output: RecordedAnswer | null,
  { usageName, model, text }: { usageName: string | null; model: string; text: string },
): object {
  const value = isObject(output?.value) ? output.value : {};
  const answered = typeof value['model'] === 'string' ? value['model'] : model;
  const told = isObject(value['usage']) ? value['usage'] : {};
  const isTold = Object.values(told).some((count) => typeof count === 'number' && count > 0);
  const guessed = {
    prompt_tokens: Math.ceil(text.length / TOKEN_LENGTH),
    completion_tokens: output?.chunks ?? 0,
  };
  return { [usageName ?? answered]: isTold ? told : guessed };
}

/** Reads an answer that was not streamed. If parsing would take too much memory, the answer is kept as a text. */
export async function readWholeAnswer(
  bytes: Buffer,
  hold: BodyReservation,
): Promise<RecordedAnswer> {
  const text = bytes.toString('utf8').trim();
  try {
    const value = await parseWithBudget(text, hold);
    const error = isObject(value) && isObject(value['error']) ? errorMessage(value) : null;
    return { text, value, error, unread: 0, chunks: 0 };
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is no JSON' : 'cannot be read';
    return {
      text: JSON.stringify(text),
      value: undefined,
      error: `the answer ${why}`,
      unread: 1,
      chunks: 0,
    };
  }
}

/**
 * Parses JSON after reserving the memory that its value takes.
 * @throws SyntaxError when the text is not JSON; another error when it takes too much memory
 */
export async function parseWithBudget(text: string, hold: BodyReservation): Promise<unknown> {
  await hold.add(parsedBytes(text));
  return JSON.parse(text);
}

/** Reads a stream, chunk by chunk, after each chunk was sent to the client. */
export interface StreamReader {
  add(chunk: Buffer): void;
  /** Returns the whole answer. `bytes` are all bytes of the stream. */
  end(bytes: Buffer, hold: BodyReservation): Promise<RecordedAnswer>;
}

/** A stream is read no further after this many events that cannot be read. */
export const MAX_UNREAD = 1000;

/**
 * Assembles a streamed completion into the answer that a request without streaming gets. Each chunk is read while the
 * stream is running, so the client hardly waits at the end.
 */
export class CompletionStreamReader implements StreamReader {
  private readonly assembly = new StreamAssembly();
  private readonly held = new EventBuffer();
  private error: string | null = null;
  private unread = 0;
  private chunks = 0;

  constructor(private readonly object: string) {}

  add(chunk: Buffer): void {
    for (const event of eventData(this.held.events(chunk).toString('utf8'))) this.addEvent(event);
  }

  /** Checking each event first is slower, so it is done only when the assembled text is not JSON. */
  async end(bytes: Buffer, hold: BodyReservation): Promise<RecordedAnswer> {
    for (const event of eventData(this.held.take().toString('utf8'))) this.addChecked(event);
    const output = await this.output(hold);
    if (output !== null) return output;
    const careful = new CompletionStreamReader(this.object);
    const turn = new EventLoopTurn();
    for (const event of eventPayloads(bytes.toString('utf8'))) {
      if (turn.isOver) await turn.next();
      if (event !== null) careful.addChecked(event);
    }
    return (await careful.output(hold)) ?? UNREADABLE;
  }

  private addChecked(event: string): void {
    if (this.unread >= MAX_UNREAD) return;
    if (event !== '[DONE]' && event !== '' && parseOrUndefined(event) === undefined) this.unread++;
    else this.addEvent(event);
  }

  private addEvent(event: string): void {
    if (event === '[DONE]' || event === '' || this.unread >= MAX_UNREAD) return;
    const told = event.includes('"error"') ? errorIn(event) : null;
    if (told !== null) this.error = told;
    else if (addTo(this.assembly, event)) this.chunks++;
    else this.unread++;
  }

  /** Returns null when the assembled text is not JSON. */
  private async output(hold: BodyReservation): Promise<RecordedAnswer | null> {
    const { error, unread, chunks } = this;
    try {
      const members = memberTexts(this.assembly.json());
      const text = objectText([['object', JSON.stringify(this.object)], ...members]);
      return { text, value: await parseWithBudget(text, hold), error, unread, chunks };
    } catch (reason) {
      return reason instanceof SyntaxError ? null : { ...UNREADABLE, unread, chunks };
    }
  }
}

const UNREADABLE: RecordedAnswer = {
  text: 'null',
  value: undefined,
  error: 'the answer cannot be read',
  unread: 1,
  chunks: 0,
};

function errorIn(event: string): string | null {
  const chunk = parseOrUndefined(event);
  if (!isObject(chunk) || chunk['error'] === undefined || chunk['error'] === null) return null;
  return errorMessage(chunk) ?? 'the provider answered an error';
}

function addTo(assembly: StreamAssembly, event: string): boolean {
  try {
    return assembly.add(event);
  } catch {
    return false; // nested too deeply, too large, or not JSON
  }
}

export function parseOrUndefined(text: string): unknown {
  try {
    return parseBounded(text);
  } catch {
    return undefined;
  }
}

/** Returns the message of an error in the shape of OpenAI or FastAPI. */
export function errorMessage(body: unknown): string | null {
  if (!isObject(body)) return null;
  const { error, detail, message } = body;
  const said = isObject(error) ? error['message'] : error;
  const first = [said, message, detail].find((text) => typeof text === 'string');
  return typeof first === 'string' ? first : null;
}
