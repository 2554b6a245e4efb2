import { invalidRequest, type Violation } from '../../../platform/errors.js';
import { isObject } from '../../../platform/json/json-object.js';

/** A message of a chat prompt, or the place of messages that the caller of the prompt adds. */
type PromptMessage =
  { type: 'placeholder'; name: string } | { type?: string; role: string; content: unknown };

/** A reference in a text to another prompt, whose text takes its place. */
export interface PromptInclude {
  name: string;
  label?: string;
  version?: number;
}

const MAX_MESSAGES = 1000;
/** The spelling is that of Langfuse, whose SDKs leave it to the server. */
const INCLUDE =
  /@@@langfusePrompt:name=([^|]{1,255})\|(?:version=([1-9]\d{0,8})|label=([\w.-]{1,36}))@@@/g;
const VARIABLE = /\{\{\s*(\w+)\s*\}\}/g;

/** Calls `replace` for each text of a prompt, and returns the prompt with the answers in their places. */
export function mapTexts(prompt: unknown, replace: (text: string) => string): unknown {
  if (typeof prompt === 'string') return replace(prompt);
  if (Array.isArray(prompt)) return prompt.map((part) => mapTexts(part, replace));
  if (!isObject(prompt)) return prompt;
  const read = ([name, value]: [string, unknown]) =>
    name === 'content' || name === 'text' ? [name, mapTexts(value, replace)] : [name, value];
  return Object.fromEntries(Object.entries(prompt).map(read));
}

export function includesIn(prompt: unknown): PromptInclude[] {
  const found = new Map<string, PromptInclude>();
  mapTexts(prompt, (text) => {
    replaceIncludes(text, (include) => {
      found.set(JSON.stringify(include), include);
      return '';
    });
    return text;
  });
  return [...found.values()];
}

export const replaceIncludes = (text: string, textOf: (include: PromptInclude) => string): string =>
  text.replaceAll(INCLUDE, (_, name: string, version?: string, label?: string) =>
    textOf(version === undefined ? { name, label: label! } : { name, version: Number(version) }),
  );

/** Checks the shape of a prompt. @throws ApiError `invalid_request` */
export function assertPrompt(prompt: unknown, type: 'text' | 'chat'): void {
  const problems = type === 'text' ? textProblems(prompt) : chatProblems(prompt);
  if (problems.length > 0) throw invalidRequest(problems);
}

const textProblems = (prompt: unknown): Violation[] =>
  typeof prompt === 'string' ? [] : [{ path: 'prompt', message: 'must be a string for type text' }];

function chatProblems(prompt: unknown): Violation[] {
  if (!Array.isArray(prompt) || prompt.length === 0 || prompt.length > MAX_MESSAGES)
    return [
      { path: 'prompt', message: `must be a list of 1 to ${MAX_MESSAGES} messages for type chat` },
    ];
  const problem = (message: unknown): string | undefined => {
    if (!isObject(message)) return 'must be an object';
    if (message['type'] === 'placeholder')
      return typeof message['name'] === 'string' && message['name'] !== ''
        ? undefined
        : 'must name the placeholder in `name`';
    const { role, content } = message;
    if (typeof role !== 'string' || role === '') return 'must have a `role`';
    return typeof content === 'string' || Array.isArray(content)
      ? undefined
      : 'must have a `content`, which is a string or a list of parts';
  };
  const at = prompt.findIndex((message) => problem(message) !== undefined);
  if (at >= 0) return [{ path: `prompt[${at}]`, message: problem(prompt[at])! }];
  const both = placeholders(prompt).find((name) => variables(prompt).has(name));
  if (both === undefined) return [];
  return [{ path: 'prompt', message: `has the name ${both} for a placeholder and for a variable` }];
}

const placeholders = (messages: PromptMessage[]): string[] =>
  messages.flatMap((message) =>
    message.type === 'placeholder' && 'name' in message ? [message.name] : [],
  );

function variables(prompt: unknown): Set<string> {
  const names = new Set<string>();
  mapTexts(prompt, (text) => {
    for (const [, name] of text.matchAll(VARIABLE)) names.add(name!);
    return text;
  });
  return names;
}
