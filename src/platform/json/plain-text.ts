import { type ChatObject, decodeJsonText, isText } from './chat-parts.js';
import { isObject } from './json-object.js';

/**
 * Members that contain the document of another program: arguments of a function (weave 0.52, DSPy 3), Haystack 2
 * (`data`), and Bedrock's `InvokeModel` (`body`, as JSON).
 */
export const WRAPPERS = ['kwargs', 'data', 'body', 'request'];
export const innerDocument = (document: ChatObject, name: string): ChatObject | undefined => {
  const inner = decodeJsonText(document[name]);
  return isObject(inner) ? inner : undefined;
};

/** Members that contain the question or the answer in calls that are not a chat. */
export const QUESTION_MEMBERS = [
  'question',
  'query',
  'prompt',
  'input',
  'message',
  'user_input',
  'user_message',
  'task',
  'text',
  'content',
  'value',
  'q',
  'inputText', // Titan on Bedrock
  'args',
];
export const ANSWER_MEMBERS = [
  'answer',
  'final_answer',
  'output',
  'final_output',
  'output_text',
  'response',
  'result',
  'completion',
  'generated_text',
  'message',
  'reply',
  'replies',
  'text',
  'content',
  'value',
  'generation', // Llama on Bedrock
  'outputText', // Titan on Bedrock
  'raw', // CrewAI 1
];

/**
 * Returns a document that is a plain text, or the text of the first of the members that has one. Wrapped documents are
 * searched too.
 */
export function plainText(document: unknown, names: readonly string[]): string | undefined {
  const value = decodeJsonText(document);
  if (typeof value === 'string') return value;
  if (!isObject(value)) return undefined;
  const name = names.find((one) => onlyText(value[one]) !== undefined);
  if (name !== undefined) return onlyText(value[name]);
  for (const wrapper of WRAPPERS) {
    const inner = innerDocument(value, wrapper);
    const text = inner && plainText(inner, names);
    if (text !== undefined) return text;
  }
  return undefined;
}

function onlyText(value: unknown): string | undefined {
  const [one, ...more]: unknown[] = Array.isArray(value) ? value : [value];
  return isText(one) && more.length === 0 ? one : undefined;
}
