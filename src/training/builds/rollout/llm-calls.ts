import { memberTexts, objectText, textsIn } from '../../../platform/json/json-text.js';
import { parseBounded } from '../../../platform/json/json-weight.js';
import {
  genAiChoices,
  genAiMessages,
  genAiTools,
  vercelChoices,
  vercelMessages,
  vercelTools,
} from './dialects.js';
import type { CallTexts, Choice, RecordedJson, Logprob, RecordedCall } from './recorded-call.js';
import { isObject } from '../../../platform/json/json-object.js';
import {
  stripPythonMembers,
  sortedJson,
  type HistoryMessage,
  readHistoryMessage,
} from './history-messages.js';
import { countsGross, parseUsageEntry } from '../../../tracing/usage/stored-usage.js';
import { inputTokens } from '../../../tracing/usage/tokens.js';
import { assembleStream } from '../../../tracing/stream-assembly.js';

/** A call of a model in one form for all instrumentations. */
export interface LlmCall {
  id: string;
  dialect: Dialect;
  /**
   * Names of the model: the requested one, the one in the answer, and the checkpoints that its usage is counted
   * under.
   */
  models: string[];
  messages: HistoryMessage[];
  /** JSON text of the tools; null when the call has none. */
  tools: string | null;
  /** Text that is equal for tools with the same meaning. */
  toolsKey: string;
  choices: Choice[];
  promptTokenIds: PromptIds | null;
  promptTokens: number | null;
  completionTokens: number | null;
  sampling: Sampling;
  /** True when the arguments of tool calls are not the text that the model sampled. */
  isReserialised: boolean;
}

/** The ids of all tokens of the prompt, and the JSON text of their list. */
export interface PromptIds {
  ids: number[];
  text: string;
}

type Dialect = 'openai' | 'gen_ai' | 'vercel';

interface Sampling {
  temperature: number | null;
  topP: number | null;
  topK: number | null;
}

/** Limits of a call that is read. OpenAI returns at most 128 choices. */
const MAX_MESSAGES = 10_000;
const MAX_CHOICES = 128;

/**
 * Reads a recorded call as a call of a model. Returns null when it is none, or failed without an answer. Returns
 * `unread` when it names a model or has choices, but has an unknown format.
 */
export function readLlmCall(texts: CallTexts): LlmCall | 'too_long' | 'unread' | null {
  const recorded = parsedCall(texts);
  if (!recorded) return null;
  const unread = isOfModel(recorded) ? 'unread' : null;
  if (!Array.isArray(recorded.inputs['messages'])) return unread;
  if (isTooLong(recorded)) return 'too_long';
  const read = readOpenAiCall(recorded) ?? readVercelCall(recorded) ?? readGenAiCall(recorded);
  return read && read.choices.length > 0 && read.messages.length > 0 ? read : unread;
}

/** Returns true when the call names a model or its answer has choices. */
const isOfModel = (recorded: RecordedCall): boolean => {
  const choices = recorded.output['choices'];
  return readModels(recorded).length > 0 || (Array.isArray(choices) && choices.length > 0);
};

function isTooLong({ inputs, output }: RecordedCall): boolean {
  const isLonger = (list: unknown, max: number) => Array.isArray(list) && list.length > max;
  return (
    isLonger(inputs['messages'], MAX_MESSAGES) ||
    isLonger(output['choices'], MAX_CHOICES) ||
    isLonger(output['messages'], MAX_CHOICES)
  );
}

function parsedCall(given: CallTexts): RecordedCall | null {
  const [inputs, answer, attributes] = [given.inputs, given.output, given.attributes].map(
    parseOrNull,
  );
  if (!isObject(inputs) || answer === null) return null;
  const whole = assembleStream(answer, given.output!);
  const [output, texts] =
    whole === null ? [answer, given] : [parseOrNull(whole), { ...given, output: whole }];
  return {
    inputs,
    output: isObject(output) ? output : {},
    attributes: isObject(attributes) ? attributes : {},
    texts,
  };
}

/** Returns null for text that is not JSON, or would take far more memory than its length. */
function parseOrNull(json: string | null): unknown {
  if (json === null) return null;
  try {
    return parseBounded(json);
  } catch {
    return null;
  }
}

/**
 * Reads calls of weave's integration for OpenAI, and of OpenInference: its `input.value` and `output.value` are the
 * bodies of OpenAI's API.
 */
function readOpenAiCall(recorded: RecordedCall): LlmCall | null {
  const { inputs, output, texts } = recorded;
  if (!Array.isArray(output['choices'])) return null;
  const found = textsIn(texts.inputs!, { messages: [true], tools: true });
  const answered = textsIn(texts.output!, { choices: [true], prompt_token_ids: true });
  const messages = readMessages(inputs['messages'] as unknown[], found?.messages as string[]);
  const choices = openAiChoices(output['choices'], answered?.choices as string[]);
  if (!messages || !choices) return null;
  const tools = Array.isArray(inputs['tools']) && inputs['tools'].length > 0;
  return {
    ...common(recorded, 'openai'),
    messages,
    ...readTools(tools ? stripPythonMembers(found!.tools!) : null),
    choices,
    promptTokenIds:
      promptIds(output['prompt_token_ids'], answered?.prompt_token_ids) ??
      ofChoice(output['choices'][0], choices[0]),
    isReserialised: false,
  };
}

const promptIds = (value: unknown, text: string | undefined): PromptIds | null => {
  const ids = numbers(value);
  return ids && text !== undefined ? { ids, text: stripPythonMembers(text) } : null;
};

/** Reads token ids of the prompt from the choice, where some clients attach them. */
const ofChoice = (choice: unknown, read: Choice | undefined): PromptIds | null =>
  isObject(choice) && read
    ? promptIds(
        choice['prompt_token_ids'],
        textsIn(read.text, { prompt_token_ids: true })?.prompt_token_ids,
      )
    : null;

function readMessages(messages: unknown[], texts: string[]): HistoryMessage[] | null {
  if (!messages.every((message) => isObject(message) && typeof message['role'] === 'string'))
    return null;
  return messages.map((message, i) =>
    readHistoryMessage(message as RecordedJson, stripPythonMembers(texts[i]!)),
  );
}

function openAiChoices(list: unknown[], texts: string[]): Choice[] | null {
  const choices: Choice[] = [];
  for (const [i, choice] of list.entries()) {
    if (!isObject(choice) || !isObject(choice['message'])) return null;
    const { message } = choice;
    const json = stripPythonMembers(texts[i]!);
    const turn = readHistoryMessage(message, textsIn(json, { message: true })!.message!);
    choices.push({
      text: json,
      turn,
      finishReason: readName(choice['finish_reason']),
      logprobs: readLogprobs(choice['logprobs']),
      tokenIds: numbers(choice['token_ids']),
      content: onlyContent(message, turn),
    });
  }
  return choices;
}

export function withMessage(choice: Choice, message: string): Choice {
  return {
    ...choice,
    text: withMember(choice.text, 'message', message),
    turn: readHistoryMessage(JSON.parse(message) as RecordedJson, message),
  };
}

/** Replaces a member in the text of an object. The other members keep their texts. */
export const withMember = (object: string, name: string, value: string): string =>
  objectText(memberTexts(object).set(name, value));

/**
 * Returns the content when nothing else was sampled. Models sample tool calls and reasoning in a spelling of their
 * own, which the message does not contain.
 */
function onlyContent(message: RecordedJson, { toolCalls }: HistoryMessage): string | null {
  const hasMore = toolCalls.length > 0 || message['reasoning_content'] || message['reasoning'];
  return hasMore ? null : textOrNull(message['content']);
}

function readLogprobs(logprobs: unknown): Logprob[] | null {
  const content = isObject(logprobs) ? logprobs['content'] : null;
  if (!Array.isArray(content) || content.length === 0) return null;
  return content.filter(isObject).map(({ token, bytes }) => ({
    token: textOrNull(token) ?? '',
    bytes: Array.isArray(bytes) ? (bytes as number[]) : null,
  }));
}

/** Reads calls with OpenTelemetry's `gen_ai` conventions, as OpenLLMetry and others write them. */
function readGenAiCall(recorded: RecordedCall): LlmCall | null {
  const { inputs, output } = recorded;
  if (readModels(recorded).length === 0 || !Array.isArray(output['messages'])) return null;
  const messages = genAiMessages(inputs);
  const choices = genAiChoices(output['messages']);
  if (!messages || !choices) return null;
  return {
    ...common(recorded, 'gen_ai'),
    messages,
    ...readTools(genAiTools(inputs['tools'])),
    choices,
    promptTokenIds: null,
    isReserialised: choices.some(({ turn }) => turn.toolCalls.length > 0),
  };
}

function readVercelCall(recorded: RecordedCall): LlmCall | null {
  const { inputs, attributes } = recorded;
  const operation = textOrNull(attributes['ai.operationId']) ?? '';
  if (!/[.]do(?:Generate|Stream)$/.test(operation)) return null;
  const messages = vercelMessages(inputs['messages'] as unknown[]);
  const choices = vercelChoices(recorded);
  if (!messages || !choices) return null;
  return {
    ...common(recorded, 'vercel'),
    messages,
    ...readTools(vercelTools(inputs['tools'])),
    choices,
    promptTokenIds: null,
    isReserialised: choices.some(({ turn }) => turn.toolArguments.includes(null)),
  };
}

/** Reads the members that all dialects record in the same way. */
function common(recorded: RecordedCall, dialect: Dialect) {
  const { texts, inputs, output, attributes } = recorded;
  const usage = isObject(output['usage']) ? output['usage'] : parseUsage(texts.usage);
  const { tokens, unknown } = parseUsageEntry(usage, countsGross(attributes['weave']));
  const extra = isObject(inputs['extra_body']) ? inputs['extra_body'] : {};
  const parameters = readParameters(attributes);
  const setting = (name: string) =>
    numberOrNull(
      inputs[name] ?? extra[name] ?? attributes[`gen_ai.request.${name}`] ?? parameters[name],
    );
  return {
    id: texts.id,
    dialect,
    models: [...new Set([...readModels(recorded), ...checkpointNames(texts.usage)])],
    promptTokens: unknown.has('prompt_tokens') ? null : inputTokens(tokens),
    completionTokens: unknown.has('completion_tokens') ? null : tokens.completion_tokens,
    sampling: {
      temperature: setting('temperature'),
      topP: setting('top_p'),
      topK: setting('top_k'),
    },
  };
}

/**
 * Returns the checkpoints that the usage of a call is counted under. When a client requests the newest checkpoint,
 * only the gateway knows which one answered.
 */
function checkpointNames(json: string | null): string[] {
  const usage = parseOrNull(json);
  return isObject(usage) ? Object.keys(usage).filter((name) => /:step\d{1,9}$/.test(name)) : [];
}

/** Returns the usage of the first model: a call has one. */
function parseUsage(json: string | null): RecordedJson {
  const usage = parseOrNull(json);
  const [first] = isObject(usage) ? Object.values(usage) : [];
  return isObject(first) ? first : {};
}

function readParameters(attributes: RecordedJson): RecordedJson {
  const given = attributes['llm.invocation_parameters'];
  const parameters = typeof given === 'string' ? parseOrNull(given) : given;
  return isObject(parameters) ? parameters : {};
}

const MODELS = [
  'gen_ai.request.model',
  'gen_ai.response.model',
  'llm.model_name',
  'ai.model.id',
  'ai.response.model',
];

const readModels = ({ inputs, output, attributes }: RecordedCall): string[] => [
  ...new Set(
    [inputs['model'], output['model'], ...MODELS.map((name) => attributes[name])].flatMap(
      (model) => readName(model) || [],
    ),
  ),
];

/** Longer values are not names. The limit bounds memory: a build keeps all names until its end. */
const MAX_NAME = 1024;

function readName(value: unknown): string | null {
  const name = textOrNull(value);
  return name !== null && name.length > MAX_NAME ? null : name;
}

const readTools = (tools: string | null) => ({
  tools,
  toolsKey: tools === null ? '' : sortedJson(JSON.parse(tools)),
});

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const numberOrNull = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

function numbers(value: unknown): number[] | null {
  const isList = Array.isArray(value) && value.length > 0;
  return isList && value.every((item) => typeof item === 'number') ? value : null;
}
