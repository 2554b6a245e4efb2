import {
  isBlank,
  isQuestion,
  readOutputMessages,
  readInputMessages,
  type ChatMessage,
} from './chat.js';
import { ANSWER_MEMBERS, plainText, QUESTION_MEMBERS } from './plain-text.js';

/**
 * The text of a call as part of a turn. The kinds from best to worst: a chat message, a plain text of a known member, a
 * document as JSON.
 */
export interface TurnText {
  kind: 'chat' | 'plain' | 'data';
  role: string;
  text: string;
}

/** Roles whose messages are not answers. Tools answer the model. */
const INPUT_ROLES = new Set(['user', 'system', 'developer', 'tool', 'function']);

/** True for a document without content: blanks, or the null values that programs print. */
const saysNothing = (document: unknown): boolean =>
  isBlank(document) ||
  (typeof document === 'string' && /^\s*(?:null|None|undefined)?$/.test(document)) ||
  (typeof document === 'object' && Object.values(document as object).every(saysNothing));

/** True when no message has visible content. Clients send an empty message when they have no text. */
const areSilent = (messages: readonly ChatMessage[] = []): boolean =>
  messages.length > 0 &&
  messages.every(({ pieces }) =>
    pieces.every((piece) => piece.text.trim() === '' || isOfNothing(piece)),
  );

const isOfNothing = ({ kind, name, text }: ChatMessage['pieces'][number]): boolean =>
  kind === 'data' && name === '' && text === 'empty';

/**
 * Returns the last question of the inputs, because earlier ones belong to earlier turns. If the inputs are empty, uses
 * the question that the output repeats, as the state of a graph does. Undefined when the call has no question.
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
 * Returns the last answer of the output. If the output is empty, uses an agent's message in inputs without a question:
 * AutoGen's runtime records the answer of an agent as the input of the next one. Undefined when no answer is found.
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

/** Joins the texts of a message, without reasoning and tool calls. */
const textIn = ({ pieces }: ChatMessage): string =>
  pieces
    .filter(({ kind, text }) => kind === 'text' && text.trim() !== '')
    .map(({ text }) => text)
    .join('\n');
