import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../platform/auth/caller.js';
import type { Hold } from '../../platform/http/body-budget.js';
import { isObject } from '../../platform/json/is-object.js';
import { skipValue } from '../../platform/json/json-grammar.js';
import { parsedBytes, parseLight } from '../../platform/json/json-weight.js';
import { memberTexts, objectText, textsIn } from '../../platform/json/json-text.js';
import { Turn } from '../../platform/time/turn.js';
import type { CallsService } from '../../tracing/calls/calls.service.js';
import { StreamAssembly } from '../../tracing/streams.js';
import { payloads } from './passages.js';
import type { Placement } from './placement.js';

/** What an answer was, as far as it came. */
export interface Output {
  /** JSON text. */
  text: string;
  /** The same, parsed, where that is an object. */
  value: unknown;
  /** What the provider said in place of the rest. */
  error: string | null;
  /** Events that could not be read, and those that could. */
  unread: number;
  chunks: number;
}

interface Begun {
  opName: string;
  placement: Placement;
  /** JSON texts. */
  inputs: string;
  attributes: string;
}

interface Ended {
  output: Output | null;
  /** The name that the usage is counted for; null for that of the answer. */
  usageName: string | null;
  exception: string | null;
  /** What else is told, beside the usage. */
  gateway: Record<string, unknown>;
}

/** The call of a request. */
export class Recording {
  readonly id = uuidv7();
  private readonly startedAt = new Date().toISOString();
  private isBegun = false;

  constructor(
    private readonly calls: CallsService,
    private readonly caller: Caller,
    private readonly begun: Begun,
  ) {}

  /** Resolves when the start is committed. */
  async begin(): Promise<void> {
    const { inputs, attributes } = this.begun;
    const text = `{"start":{"attributes":${attributes},"inputs":${inputs}}}`;
    await this.calls.start(this.start, text, this.caller);
    this.isBegun = true;
  }

  /** Resolves when the end is committed, and the start if it was not. */
  async end({ output, usageName, exception, gateway }: Ended): Promise<void> {
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
    };
    const [answer] = await this.calls.storeCalls([whole], this.caller);
    if (answer && 'error' in answer) throw new Error(answer.error.detail);
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

/** What is nested too deeply cannot be stored. */
function isStorable(output: Output | null): output is Output {
  try {
    return output !== null && skipValue(output.text, 0, 1) > 0;
  } catch {
    return false;
  }
}

function summaryText(output: Output | null, usageName: string | null, gateway: object): string {
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

/** Characters of a request that are about a token. */
const TOKEN_LENGTH = 4;

/**
 * What an answer used, by the name of the model. Where it does not say, for instance because the client left before the end,
 * the length of the request and the chunks are counted: otherwise leaving early would cost nothing.
 */
export function spentUsage(
  output: Output | null,
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

/** An answer that came as a whole. What would take too much memory to read is kept as a text. */
export async function readWhole(bytes: Buffer, hold: Hold): Promise<Output> {
  const text = bytes.toString('utf8').trim();
  try {
    return { text, value: await valueIn(text, hold), error: null, unread: 0, chunks: 0 };
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

/** A provider that sends so many events that are none is read no further. */
const MAX_UNREAD = 1000;

/** An answer that came as a stream, as it would be without the stream. */
export async function readStream(bytes: Buffer, object: string, hold: Hold): Promise<Output> {
  const turn = new Turn();
  const assembly = new StreamAssembly();
  let [error, unread]: [string | null, number] = [null, 0];
  for (const payload of payloads(bytes.toString('utf8'))) {
    if (turn.isOver) await turn.next();
    if (payload === null || payload === '' || payload === '[DONE]') continue;
    if (unread === MAX_UNREAD) break;
    const chunk = parsed(payload);
    if (isObject(chunk) && chunk['error'] !== undefined && chunk['error'] !== null)
      error = errorMessage(chunk) ?? 'the provider answered an error';
    else if (!addTo(assembly, chunk, payload)) unread++;
  }
  const { count: chunks } = assembly;
  const members = memberTexts(assembly.json());
  const text = objectText([['object', JSON.stringify(object)], ...members]);
  try {
    return { text, value: await valueIn(text, hold), error, unread, chunks };
  } catch {
    return { text: 'null', value: undefined, error: 'the answer cannot be read', unread, chunks };
  }
}

/** @throws what a text that is no JSON, or takes too much memory, does */
async function valueIn(text: string, hold: Hold): Promise<unknown> {
  await hold.add(parsedBytes(text));
  return JSON.parse(text);
}

function addTo(assembly: StreamAssembly, chunk: unknown, payload: string): boolean {
  try {
    return assembly.add(chunk, payload);
  } catch {
    return false; // nested too deeply, or too much of it
  }
}

function parsed(text: string): unknown {
  try {
    return parseLight(text);
  } catch {
    return undefined;
  }
}

/** What an error of OpenAI's shape says, or one of FastAPI's. */
export function errorMessage(body: unknown): string | null {
  if (!isObject(body)) return null;
  const { error, detail, message } = body;
  const said = isObject(error) ? error['message'] : error;
  const first = [said, message, detail].find((text) => typeof text === 'string');
  return typeof first === 'string' ? first : null;
}
