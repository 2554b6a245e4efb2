import { ANSWERED, ASKED, type Conversation, isBlank, plainText, type Said } from './chat.js';
import type { Piece } from './chat-parts.js';

/**
 * What a call was asked and what it answered, where both are plain texts of a name that says so; undefined where neither is. For
 * calls that are no chat.
 */
export function readPlain(
  inputs: unknown,
  output: unknown,
  exception: string | null = null,
): Conversation | undefined {
  const asked = plainText(inputs, ASKED);
  const answered = plainText(output, ANSWERED);
  if (asked === undefined && answered === undefined) return undefined;
  const failed = exception === null ? [] : [said('exception', 'exception', exception)];
  return {
    said: [
      ...(asked === undefined ? documentOf('in', inputs) : [said('user', 'text', asked)]),
      ...(answered === undefined
        ? documentOf('out', output)
        : [said('assistant', 'text', answered)]),
      ...failed,
    ],
    others: [],
  };
}

/** A document as JSON; nothing where it says nothing. */
const documentOf = (role: string, value: unknown): Said[] =>
  isBlank(value) ? [] : [said(role, 'data', JSON.stringify(value))];

const said = (role: string, kind: Piece['kind'], text: string): Said => ({
  role,
  pieces: [{ kind, name: '', text }],
});
