import type { HistoryMessage } from './history-messages.js';

/** The stored texts of a call. */
export interface CallTexts {
  id: string;
  attributes: string | null;
  inputs: string | null;
  output: string | null;
  /** The usage in its summary. */
  usage: string | null;
}

export type RecordedJson = Record<string, unknown>;

/** The part of a call that the readers of the dialects see. */
export interface RecordedCall {
  inputs: RecordedJson;
  output: RecordedJson;
  attributes: RecordedJson;
  texts: CallTexts;
}

/** One answer of a model. */
export interface Choice {
  /** The whole choice as JSON text. */
  text: string;
  turn: HistoryMessage;
  finishReason: string | null;
  /** Null when there are none. */
  logprobs: Logprob[] | null;
  tokenIds: number[] | null;
  /** The content of the message when that is all that was sampled; else null. */
  content: string | null;
}

export interface Logprob {
  token: string;
  bytes: number[] | null;
}
