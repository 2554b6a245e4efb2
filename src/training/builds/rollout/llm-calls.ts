import { textsIn } from '../../../platform/json/json-text.js';
import { parseBounded } from '../../../platform/json/json-weight.js';
import { readGenAi, readVercel } from './dialects.js';
import {
  type CallTexts,
  type Choice,
  type RecordedConversation,
  type PromptIds,
  readLogprobs,
  type RecordedCall,
  type RecordedJson,
} from './recorded-call.js';
import { isObject, textOrNull } from '../../../platform/json/json-object.js';
import {
  type HistoryMessage,
  readHistoryMessage,
  sortedJson,
  stripPythonMembers,
} from './history-messages.js';
import { countsGross, parseUsageEntry } from '../../../tracing/usage/stored-usage.js';
import { inputTokens } from '../../../tracing/usage/tokens.js';
import { assembleStream } from '../../../tracing/stream-assembly.js';

/** A call of a model in one form for all instrumentations. */
export interface LlmCall extends RecordedConversation {
  id: string;
  /**
   * Names of the model: the requested one, the one in the answer, and the checkpoints that its usage is counted
   * under.
   */
  models: string[];
  /** Text that is equal for tools with the same meaning. */
  toolsKey: string;
  promptTokens: number | null;
  completionTokens: number | null;
  sampling: Sampling;
}

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
  const { choices } = recorded.output;
  const models = readModels(recorded);
  const hasChoices = Array.isArray(choices) && choices.length > 0;
  const unread = models.length > 0 || hasChoices ? 'unread' : null;
  if (!Array.isArray(recorded.inputs['messages'])) return unread;
  if (isTooLong(recorded)) return 'too_long';
  const read = readConversation(recorded, models.length > 0);
  if (!read || read.choices.length === 0 || read.messages.length === 0) return unread;
  const toolsKey = read.tools === null ? '' : sortedJson(JSON.parse(read.tools));
  return { ...read, toolsKey, ...readSettings(recorded, models) };
}

function readConversation(
  recorded: RecordedCall,
  namesModel: boolean,
): RecordedConversation | null {
  const messages = recorded.inputs['messages'] as unknown[];
  if (!messages.every(isMessage)) return null;
  return (
    readOpenAi(recorded, messages) ??
    readVercel(recorded, messages) ??
    (namesModel ? readGenAi(recorded, messages) : null)
  );
}

const isMessage = (value: unknown): value is RecordedJson =>
  isObject(value) && typeof value['role'] === 'string';

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
function readOpenAi(
  { inputs, output, texts }: RecordedCall,
  messages: RecordedJson[],
): RecordedConversation | null {
  if (!Array.isArray(output['choices'])) return null;
  const found = textsIn(texts.inputs!, { messages: [true], tools: true });
  const answered = textsIn(texts.output!, { choices: [true], prompt_token_ids: true });
  const choices = openAiChoices(output['choices'], answered?.choices as string[]);
  if (!choices) return null;
  const sent = found?.messages as string[];
  const hasTools = Array.isArray(inputs['tools']) && inputs['tools'].length > 0;
  return {
    dialect: 'openai',
    messages: messages.map((message, i) =>
      readHistoryMessage(message, stripPythonMembers(sent[i]!)),
    ),
    tools: hasTools ? stripPythonMembers(found!.tools!) : null,
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
      logprobs: isObject(choice['logprobs']) ? readLogprobs(choice['logprobs']['content']) : null,
      tokenIds: numbers(choice['token_ids']),
      content: onlyContent(message, turn),
    });
  }
  return choices;
}

/**
 * Returns the content when nothing else was sampled. Models sample tool calls and reasoning in a spelling of their
 * own, which the message does not contain.
 */
function onlyContent(message: RecordedJson, { toolCalls }: HistoryMessage): string | null {
  const hasMore = toolCalls.length > 0 || message['reasoning_content'] || message['reasoning'];
  return hasMore ? null : textOrNull(message['content']);
}

/** Reads the members that all dialects record in the same way. */
function readSettings({ texts, inputs, output, attributes }: RecordedCall, models: string[]) {
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
    models: [...new Set([...models, ...checkpointNames(texts.usage)])],
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

const numberOrNull = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

function numbers(value: unknown): number[] | null {
  const isList = Array.isArray(value) && value.length > 0;
  return isList && value.every((item) => typeof item === 'number') ? value : null;
}
