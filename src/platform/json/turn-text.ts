import {
  isBlank,
  isQuestion,
  readOutputMessages,
  readInputMessages,
  type ChatMessage,
} from './chat.js';
import { ANSWER_MEMBERS, plainText, QUESTION_MEMBERS } from './plain-text.js';

/**
 * What a call says as a part of a turn, best first: a message of a chat, a plain text of a member that is named so, or a
 * document as JSON.
 */
export interface TurnText {
  kind: 'chat' | 'plain' | 'data';
  role: string;
  text: string;
}

/** Roles whose messages are no answer: tools answer the model. */
const INPUT_ROLES = new Set(['user', 'system', 'developer', 'tool', 'function']);

/** A document in which nothing is said: blanks, and what programs print where there is nothing. */
const saysNothing = (document: unknown): boolean =>
  isBlank(document) ||
  (typeof document === 'string' && /^\s*(?:null|None|undefined)?$/.test(document)) ||
  (typeof document === 'object' && Object.values(document as object).every(saysNothing));

/** Messages of which none has anything to show: clients send an empty one where they have no text. */
const areSilent = (messages: readonly ChatMessage[] = []): boolean =>
  messages.length > 0 &&
  messages.every(({ pieces }) =>
    pieces.every((piece) => piece.text.trim() === '' || isOfNothing(piece)),
  );

const isOfNothing = ({ kind, name, text }: ChatMessage['pieces'][number]): boolean =>
  kind === 'data' && name === '' && text === 'empty';

/**
 * The last question among the inputs: what comes before it belongs to earlier turns. Where nothing came in, it is the one that the
 * output repeats, as the state of a graph does. Undefined when the call says none.
 */
export function readQuestion(inputs: unknown, output: unknown): TurnText | undefined {
  const isSilent = saysNothing(inputs);
  const messages = isSilent
    ? readOutputMessages(inputs, output)
    : readInputMessages(inputs, output);
  const question = messages?.findLast((said) => isQuestion(said) && textIn(said) !== '');
  if (question) return { kind: 'chat', role: 'user', text: textIn(question) };
  if (isSilent || areSilent(messages)) return undefined;
  const text = plainText(inputs, QUESTION_MEMBERS);
  if (text !== undefined) return { kind: 'plain', role: 'user', text };
  return { kind: 'data', role: 'user', text: JSON.stringify(inputs) };
}

/**
 * The last answer in the output; undefined when it says nothing. Without one it is the message of an agent that came in alone:
 * AutoGen's runtime tells what an agent answers as the message that the next one gets.
 */
export function readAnswer(inputs: unknown, output: unknown): TurnText | undefined {
  const isAnswer = (said: ChatMessage) => !INPUT_ROLES.has(said.role) && textIn(said) !== '';
  const chat = (said: ChatMessage): TurnText => ({
    kind: 'chat',
    role: said.role,
    text: textIn(said),
  });
  const isSilent = saysNothing(output);
  const messages = isSilent ? undefined : readOutputMessages(inputs, output);
  const answer = messages?.findLast(isAnswer);
  if (answer) return chat(answer);
  if (isSilent || areSilent(messages)) {
    const asked = readInputMessages(inputs, output) ?? [];
    const handed = asked.some(isQuestion) ? undefined : asked.findLast(isAnswer);
    return handed && chat(handed);
  }
  const text = plainText(output, ANSWER_MEMBERS);
  if (text !== undefined) return { kind: 'plain', role: 'assistant', text };
  return { kind: 'data', role: 'assistant', text: JSON.stringify(output) };
}

/** The texts of a message, without what a model thought and the tools that it called. */
const textIn = ({ pieces }: ChatMessage): string =>
  pieces
    .filter(({ kind, text }) => kind === 'text' && text.trim() !== '')
    .map(({ text }) => text)
    .join('\n');
