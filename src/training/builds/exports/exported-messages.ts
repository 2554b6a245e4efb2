import { textsIn } from '../../../platform/json/json-text.js';
import {
  parsedText,
  type HistoryMessage,
  readHistoryMessage,
} from '../rollout/history-messages.js';

/*
 * Reads the groups of a build for exports. Rows contain the text as it was recorded: JSON.parse would change a number
 * such as 12345678901234567890 or 10.0.
 */

/** A message, and whether it is a choice to train. Members are JSON texts, and null when they are absent or null. */
export interface ExportedMessage {
  role: string;
  content: string | null;
  name: string | null;
  calls: ExportedToolCall[];
  answers: string | null;
  reasoning: string | null;
  isTrained: boolean;
  /** The JSON text of the message, or of the whole choice when it is trained. */
  text: string;
}

interface ExportedToolCall {
  id: string;
  name: string;
  args: string;
}

export interface ExportedHistory {
  told: ExportedMessage[];
  /** JSON text; null when the history has no tools. */
  tools: string | null;
}

export interface ExportedRollout {
  histories: ExportedHistory[];
  reward: number;
  /** JSON text, as is `startTime`. */
  metrics: string;
  startTime: string;
  unitId: string;
  callId: string;
  scoredId: string | null;
  choice: number;
}

const HISTORY = { messages_and_choices: [true], tools: true } as const;
const TRAJECTORY = {
  ...HISTORY,
  additional_histories: [HISTORY],
  reward: true,
  metrics: true,
  metadata: true,
  start_time: true,
} as const;

export function readExportedRollout(trajectory: string): ExportedRollout {
  const found = textsIn(trajectory, TRAJECTORY)!;
  const metadata = JSON.parse(found.metadata!) as Record<string, unknown>;
  const others = (found.additional_histories ?? []) as (typeof found)[];
  return {
    histories: [found, ...others].map(({ messages_and_choices: turns, tools }) => ({
      told: (turns as string[]).map(readExportedMessage),
      tools: tools === undefined || /^(null|\[\s*\])$/.test(tools) ? null : tools,
    })),
    reward: JSON.parse(found.reward!) as number,
    metrics: found.metrics!,
    startTime: found.start_time!,
    unitId: metadata['unit_id'] as string,
    callId: metadata['call_id'] as string,
    scoredId: (metadata['scored_call_id'] as string | undefined) ?? null,
    choice: (metadata['choice'] as number | undefined) ?? 0,
  };
}

const MESSAGE = {
  role: true,
  content: true,
  name: true,
  tool_calls: [
    { id: true, name: true, arguments: true, function: { name: true, arguments: true } },
  ],
  tool_call_id: true,
  reasoning_content: true,
  reasoning: true,
} as const;

function readExportedMessage(text: string): ExportedMessage {
  const message = textsIn(text, { message: true })?.message;
  const found = textsIn(message ?? text, MESSAGE)!;
  const calls = (found.tool_calls ?? []) as Exclude<
    NonNullable<typeof found.tool_calls>[number],
    Error | undefined
  >[];
  return {
    role: JSON.parse(found.role!) as string,
    content: given(found.content),
    name: given(found.name),
    calls: calls.map(({ id, name, arguments: flat, function: called }) => ({
      id: id ?? '""',
      name: called?.name ?? name ?? '""',
      args: called?.arguments ?? flat ?? '{}',
    })),
    answers: given(found.tool_call_id),
    reasoning: nonEmpty(found.reasoning_content) ?? nonEmpty(found.reasoning),
    isTrained: message !== undefined,
    text,
  };
}

const given = (json: string | undefined) => (json === undefined || json === 'null' ? null : json);
/** Accepts strings only: some servers return an object of settings under this name. */
const nonEmpty = (json: string | undefined) =>
  json?.startsWith('"') && json !== '""' ? json : null;

/**
 * Returns keys that are equal for messages with the same meaning. Ids of tool calls are random, so each id is
 * replaced by its position in the order of appearance.
 */
export function messageKeys(told: readonly ExportedMessage[]): string[] {
  const ids = new Map<string, string>();
  const renamed = (id: string) => {
    if (!ids.has(id)) ids.set(id, `#${ids.size}`);
    return ids.get(id)!;
  };
  return told.map((one) => {
    const { text } = one;
    const message = one.isTrained ? textsIn(text, { message: true })!.message! : text;
    const turn: HistoryMessage = readHistoryMessage(
      JSON.parse(message) as Record<string, unknown>,
      message,
      renamed,
    );
    return `${one.reasoning ?? ''}\n${turn.canonical}`;
  });
}

/** The message format of a trainer. */
export interface MessageForm {
  /** TRL renders the arguments of tool calls itself, and needs objects. */
  args: 'text' | 'object';
  /** The place of the reasoning; null when the format has none. */
  reasoning: 'reasoning_content' | 'part' | null;
}

/** Prints a message as JSON text. `more` contains members that a format adds, each with a comma before it. */
export function messageText(told: ExportedMessage, form: MessageForm, more = ''): string {
  const { role, name, calls, answers, reasoning } = told;
  const content = told.content ?? (calls.length > 0 && form.reasoning !== 'part' ? 'null' : '""');
  const isPart = reasoning !== null && form.reasoning === 'part';
  return `{${[
    `"role":${JSON.stringify(role)}`,
    `"content":${isPart ? partsText(reasoning, content) : content}`,
    ...(reasoning !== null && form.reasoning === 'reasoning_content'
      ? [`"reasoning_content":${reasoning}`]
      : []),
    ...(name === null ? [] : [`"name":${name}`]),
    ...(calls.length > 0
      ? [`"tool_calls":[${calls.map((call) => callText(call, form)).join(',')}]`]
      : []),
    ...(answers === null ? [] : [`"tool_call_id":${answers}`]),
  ].join(',')}${more}}`;
}

function partsText(reasoning: string, content: string): string {
  const thinking = `{"type":"thinking","thinking":${reasoning}}`;
  if (content.startsWith('[')) return content.replace('[', `[${thinking},`).replace(/,\s*\]$/, ']');
  return `[${thinking},{"type":"text","text":${content}}]`;
}

const callText = ({ id, name, args }: ExportedToolCall, { args: form }: MessageForm): string =>
  `{"id":${id},"type":"function","function":{"name":${name},"arguments":${form === 'text' ? argumentsText(args) : argumentsObject(args)}}}`;

/** Prints arguments as OpenAI does: a JSON string that contains the text of a JSON value. */
export const argumentsText = (args: string): string =>
  args.startsWith('"') ? args : JSON.stringify(args);

/** Returns the object of the arguments in its original spelling, but on one line. */
function argumentsObject(args: string): string {
  const spelled = args.startsWith('"') ? (JSON.parse(args) as string) : args;
  const parsed = parsedText(spelled);
  const text = spelled.replaceAll(/[\r\n]/g, ' ').trim(); // line breaks inside of strings are escaped
  if (parsed === undefined) return `{"value":${JSON.stringify(spelled)}}`;
  return text.startsWith('{') ? text : `{"value":${text}}`;
}
