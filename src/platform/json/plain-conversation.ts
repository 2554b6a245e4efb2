import { type Conversation, isBlank, type ChatMessage } from './chat.js';
import { ANSWER_MEMBERS, plainText, QUESTION_MEMBERS } from './plain-text.js';
import type { MessagePiece } from './chat-parts.js';

/**
 * What a call was asked and what it answered, where both are plain texts of a name that says so; undefined where neither is. For
 * calls that are no chat.
 */
export function readPlainConversation(
  inputs: unknown,
  output: unknown,
  exception: string | null = null,
): Conversation | undefined {
  const asked = plainText(inputs, QUESTION_MEMBERS);
  const answered = plainText(output, ANSWER_MEMBERS);
  if (asked === undefined && answered === undefined) return undefined;
  const failed = exception === null ? [] : [makeMessage('exception', 'exception', exception)];
  return {
    said: [
      ...(asked === undefined ? documentOf('in', inputs) : [makeMessage('user', 'text', asked)]),
      ...(answered === undefined
        ? documentOf('out', output)
        : [makeMessage('assistant', 'text', answered)]),
      ...failed,
    ],
    others: [],
  };
}

/** A document as JSON; nothing where it says nothing. */
const documentOf = (role: string, value: unknown): ChatMessage[] =>
  isBlank(value) ? [] : [makeMessage(role, 'data', JSON.stringify(value))];

const makeMessage = (role: string, kind: MessagePiece['kind'], text: string): ChatMessage => ({
  role,
  pieces: [{ kind, name: '', text }],
});
