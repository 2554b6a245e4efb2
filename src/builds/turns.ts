import { createHash } from 'node:crypto';
import { elementSpans, memberSpans } from '../common/json-text.js';
import { isObject } from '../common/is-object.js';

/*
 * Chat messages as they are compared and copied. What is copied is the text as it was stored; what is compared is what
 * a model reads of it: clients add and drop members such as `refusal` when they send an answer back.
 */

/** A message: its JSON text in OpenAI's form, and what is compared of it. */
export interface Turn {
  text: string;
  role: string;
  /** Equal for messages that say the same. */
  canonical: string;
  /** Ids of the tool calls that it makes, and of the one that it answers. */
  toolCalls: string[];
  answers: string | null;
  /** The texts of the arguments of its tool calls, where they are texts. */
  toolArguments: (string | null)[];
}

type Json = Record<string, unknown>;

const text = (value: unknown) => (typeof value === 'string' ? value : null);

/** A message in OpenAI's form; `text` is its JSON text. */
export function turnOf(message: Json, json: string): Turn {
  const calls = toolCallsOf(message);
  const role = text(message['role']) ?? '';
  return {
    text: json,
    role,
    canonical: JSON.stringify([
      role,
      text(message['name']) ?? '',
      contentKey(message['content']),
      calls.map(({ id, name, args }) => [id, name, argumentsKey(args)]),
      text(message['tool_call_id']) ?? '',
    ]),
    toolCalls: calls.map(({ id }) => id),
    answers: role === 'tool' ? (text(message['tool_call_id']) ?? '') : null,
    toolArguments: calls.map(({ args }) => text(args)),
  };
}

function toolCallsOf({ tool_calls }: Json): { id: string; name: string; args: unknown }[] {
  if (!Array.isArray(tool_calls)) return [];
  return tool_calls.filter(isObject).map((call) => {
    const called = isObject(call['function']) ? call['function'] : call;
    return {
      id: text(call['id']) ?? '',
      name: text(called['name']) ?? '',
      args: called['arguments'],
    };
  });
}

/** Parts that are all text say the same as one text. */
function contentKey(content: unknown): unknown {
  if (!Array.isArray(content)) return content ?? '';
  const texts = content.map((part) =>
    isObject(part) && (part['type'] ?? 'text') === 'text' ? text(part['text']) : text(part),
  );
  return texts.includes(null) ? sortedJson(content) : texts.join('');
}

/** Arguments that are printed anew by a client are still the same. */
function argumentsKey(args: unknown): string {
  if (typeof args !== 'string') return sortedJson(args ?? null);
  try {
    return sortedJson(JSON.parse(args));
  } catch {
    return args;
  }
}

/** JSON with sorted keys. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isObject(part)
      ? Object.fromEntries(
          Object.keys(part)
            .toSorted()
            .map((key) => [key, part[key]]),
        )
      : part,
  );
}

export const hashOf = (...parts: string[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('base64');
};

/** What weave adds to objects of Python's classes. */
const PYTHON = ['_type', '_class_name', '_bases'];
const IS_PYTHON = /"_(?:type|class_name|bases)"/;

/** The text without what weave adds to objects of Python's classes, and on one line. */
export function cleaned(json: string): string {
  const oneLine = /[\r\n]/.test(json) ? json.replaceAll(/[\r\n]/g, ' ') : json;
  return withoutPython(oneLine);
}

function withoutPython(json: string): string {
  if (!IS_PYTHON.test(json)) return json;
  if (json.startsWith('['))
    return `[${elementSpans(json, 0)
      .map((span) => withoutPython(json.slice(...span)))
      .join(',')}]`;
  if (!json.startsWith('{')) return json;
  const members = [...memberSpans(json, 0)];
  const isPython = members.some(([name]) => name === '_class_name' || name === '_bases');
  return `{${members
    .filter(([name]) => !isPython || !PYTHON.includes(name))
    .map(([name, span]) => `${JSON.stringify(name)}:${withoutPython(json.slice(...span))}`)
    .join(',')}}`;
}
