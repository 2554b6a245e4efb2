import { isObject, textOrNull } from '../../../platform/json/json-object.js';
import type { HistoryMessage } from './history-messages.js';

export interface CallTexts {
  id: string;
  attributes: string | null;
  inputs: string | null;
  output: string | null;
  /** The usage in the summary of the call. */
  usage: string | null;
}

export type RecordedJson = Record<string, unknown>;

/** The documents of a call that the readers of the dialects use. */
export interface RecordedCall {
  inputs: RecordedJson;
  output: RecordedJson;
  attributes: RecordedJson;
  texts: CallTexts;
}

export interface Choice {
  text: string;
  turn: HistoryMessage;
  finishReason: string | null;
  /** Null when none were recorded. */
  logprobs: Logprob[] | null;
  tokenIds: number[] | null;
  /** The content of the message when nothing else was sampled; else null. */
  content: string | null;
}

interface Logprob {
  token: string;
  bytes: number[] | null;
}

/** The ids of all tokens of the prompt, and the JSON text of their list. */
export interface PromptIds {
  ids: number[];
  text: string;
}

/** The messages, tools and choices of a call in OpenAI's format, which each dialect is converted into. */
export interface RecordedConversation {
  dialect: 'openai' | 'gen_ai' | 'vercel';
  messages: HistoryMessage[];
  /** JSON text of the tools; null when the call has none. */
  tools: string | null;
  choices: Choice[];
  promptTokenIds: PromptIds | null;
  /** True when the arguments of tool calls are not the text that the model sampled. */
  isReserialised: boolean;
}

export const readLogprobs = (tokens: unknown): Logprob[] | null =>
  Array.isArray(tokens) && tokens.length > 0
    ? tokens.filter(isObject).map(({ token, bytes }) => ({
        token: textOrNull(token) ?? '',
        bytes: Array.isArray(bytes) ? (bytes as number[]) : null,
      }))
    : null;
