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

export interface Logprob {
  token: string;
  bytes: number[] | null;
}
