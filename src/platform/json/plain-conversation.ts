import { type Conversation, isBlank, type ChatMessage } from './chat.js';
import { ANSWER_MEMBERS, plainText, QUESTION_MEMBERS } from './plain-text.js';
import type { MessagePiece } from './chat-parts.js';

/**
 * Returns the question and the answer of a call that is not a chat, if at least one of them is a plain text of a known
 * member. Otherwise returns undefined.
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

const documentOf = (role: string, value: unknown): ChatMessage[] =>
  isBlank(value) ? [] : [makeMessage(role, 'data', JSON.stringify(value))];

const makeMessage = (role: string, kind: MessagePiece['kind'], text: string): ChatMessage => ({
  role,
  pieces: [{ kind, name: '', text }],
});
