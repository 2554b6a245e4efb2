import { memberTexts, objectText, textsIn } from '../../platform/json/json-text.js';
import { parseBounded } from '../../platform/json/json-weight.js';
import {
  genAiChoices,
  genAiMessages,
  genAiTools,
  vercelChoices,
  vercelMessages,
  vercelTools,
} from './dialects.js';
import type { CallTexts, Choice, RecordedJson, Logprob, RecordedCall } from './recorded-call.js';
import { isObject } from '../../platform/json/json-object.js';
import {
  stripPythonMembers,
  sortedJson,
  type HistoryMessage,
  readHistoryMessage,
} from './history-messages.js';
import { countsGross, parseUsageEntry } from '../../tracing/usage/stored-usage.js';
import { inputTokens } from '../../tracing/usage/tokens.js';
import { assembleStream } from '../../tracing/stream-assembly.js';

/** A call of a model, whichever instrumentation recorded it. */
export interface LlmCall {
  id: string;
  dialect: Dialect;
  /** Names of the model: as it was asked for, as it answered, and as its usage was counted where that is a checkpoint. */
  models: string[];
  messages: HistoryMessage[];
  /** JSON text of the tools; null for none. */
  tools: string | null;
  /** Equal for tools that say the same. */
  toolsKey: string;
  choices: Choice[];
  promptTokenIds: PromptIds | null;
  promptTokens: number | null;
  completionTokens: number | null;
  sampling: Sampling;
  /** The arguments of tool calls are not the text that was sampled. */
  isReserialised: boolean;
}

/** The ids of all tokens that were sent, and the JSON text of their list. */
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

/** A call with more is not read. OpenAI gives no more choices. */
const MAX_MESSAGES = 10_000;
const MAX_CHOICES = 128;

/**
 * Reads a recorded call as a call of a model. Null when it is not one, or failed without an answer; `unread` when it is
 * one by its model or its choices, but not in a form that is known.
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

/** Whatever asks a model names it, and says what is to be answered; what answers like one has choices. */
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

/** Null for what would take far more memory than its text. */
function parseOrNull(json: string | null): unknown {
  if (json === null) return null;
  try {
    return parseBounded(json);
  } catch {
    return null;
  }
}

/** weave's integration for OpenAI, and OpenInference, whose `input.value` and `output.value` are the same bodies. */
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

/** Some clients attach them to the choice. */
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

/** The choice with another message, as JSON text. */
export function withMessage(choice: Choice, message: string): Choice {
  return {
    ...choice,
    text: withMember(choice.text, 'message', message),
    turn: readHistoryMessage(JSON.parse(message) as RecordedJson, message),
  };
}

/** An object's text with another value of a member; the others keep their texts. */
export const withMember = (object: string, name: string, value: string): string =>
  objectText(memberTexts(object).set(name, value));

/** Tool calls and reasoning are sampled too, in a spelling of the model's own. */
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

/** The conventions of OpenTelemetry, as OpenLLMetry and others write them. */
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

/** What is read alike in all dialects. */
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

/** Checkpoints that a call is counted under: the gateway knows them where the client asked for the newest one. */
function checkpointNames(json: string | null): string[] {
  const usage = parseOrNull(json);
  return isObject(usage) ? Object.keys(usage).filter((name) => /:step\d{1,9}$/.test(name)) : [];
}

/** Of one model: a call has one. */
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

/** Longer ones are no names: they are kept for the whole of a build. */
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
