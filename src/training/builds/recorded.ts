import type { Turn } from './turns.js';

/** The stored texts of a call. */
export interface CallTexts {
  id: string;
  attributes: string | null;
  inputs: string | null;
  output: string | null;
  /** The usage in its summary. */
  usage: string | null;
}

export type Json = Record<string, unknown>;

/** The part of a call that the readers of the dialects see. */
export interface Recorded {
  inputs: Json;
  output: Json;
  attributes: Json;
  texts: CallTexts;
}

/** One answer of a model. */
export interface Choice {
  /** The whole choice as JSON text. */
  text: string;
  turn: Turn;
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
