import { isObject } from '../../platform/json/json-object.js';
import { skipValue } from '../../platform/json/json-grammar.js';
import { memberSpans } from '../../platform/json/json-text.js';
import type { AnyValue, KeyValue } from './otlp.js';

/** Attributes by name, as JSON values. Of a repeated name the last value counts. */
export type Attributes = Map<string, unknown>;

export function readAttributes(list: KeyValue[] = []): Attributes {
  const attributes: Attributes = new Map();
  for (const { key = '', value } of list) attributes.set(key, value ? toJson(value) : null);
  return attributes;
}

/** Whole numbers beyond 2^53 stay texts, bytes are base64. The decoder bounds how deep values lie. */
function toJson(value: AnyValue): unknown {
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.intValue !== undefined) {
    const number = Number(value.intValue);
    return Number.isSafeInteger(number) ? number : value.intValue;
  }
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(toJson);
  if (value.kvlistValue) return Object.fromEntries(readAttributes(value.kvlistValue.values));
  return value.boolValue ?? value.doubleValue ?? value.bytesValue ?? null;
}

/** A value and the JSON text that it is stored as: of JSON in an attribute the text as it came. */
export interface Content {
  value: unknown;
  text: string;
}

export const toContent = (value: unknown): Content => ({
  value,
  text: JSON.stringify(value) ?? 'null',
});

/** Texts with more of these, of which JSON has one a value, stay texts: a short text may hold millions of values. */
const VALUES = /[[{,]/g;
const MAX_VALUES = 200_000;
/** Containers that may be put around what a text holds. */
const WRAPPERS = 10;

/** The JSON that a text holds, if it looks like an object, array or string and is one; texts in lists too. */
export function parseContent(value: unknown): Content {
  if (Array.isArray(value)) {
    const parts = value.map(parseContent);
    return {
      value: parts.map((part) => part.value),
      text: `[${parts.map(({ text }) => text).join(',')}]`,
    };
  }
  if (typeof value !== 'string' || !/^\s*[[{"]/.test(value) || hasManyValues(value))
    return toContent(value);
  try {
    const json: unknown = JSON.parse(value);
    if (typeof json === 'string') return { value: json, text: value };
    skipValue(value, 0, WRAPPERS); // throws where it is too deep to be stored
    return { value: json, text: value };
  } catch {
    return toContent(value);
  }
}

function hasManyValues(text: string): boolean {
  if (text.length <= MAX_VALUES) return false;
  VALUES.lastIndex = 0;
  for (let count = 0; VALUES.test(text); count++) if (count === MAX_VALUES) return true;
  return false;
}

/** The members of an object. */
export function contentMembers({ value, text }: Content): [name: string, member: Content][] {
  if (!isObject(value)) return [];
  return [...memberSpans(text, 0)].map(([name, span]) => [
    name,
    { value: value[name], text: text.slice(...span) },
  ]);
}

/**
 * The list that attributes spell one by one, as `gen_ai.prompt.0.role` and `llm.input_messages.0.message.content` do:
 * entries without their prefix. Those that go too deep are no spelled-out lists.
 */
export function nestPaths(entries: Iterable<readonly [path: string, value: unknown]>): unknown {
  const tree: Tree = new Map();
  for (const [name, value] of entries) {
    const path = name.split('.', MAX_PATH + 1);
    if (path.length <= MAX_PATH) setPath(tree, path, value);
  }
  return tree.size > 0 ? toNestedValue(tree) : undefined;
}

type Tree = Map<string, unknown>;

const MAX_PATH = 16;

const isIndex = (step: string) => /^\d{1,6}$/.test(step);

function setPath(tree: Tree, path: string[], value: unknown): void {
  let node = tree;
  for (const step of path.slice(0, -1)) {
    let next = node.get(step);
    if (!(next instanceof Map)) node.set(step, (next = new Map()));
    node = next as Tree;
  }
  node.set(path.at(-1)!, value);
}

/** Nodes whose names are all numbers are lists; the wrappers of OpenInference around each element go. */
function toNestedValue(value: unknown): unknown {
  if (!(value instanceof Map)) return value;
  const entries = [...(value as Tree)].map(([name, part]): [string, unknown] => [
    name,
    toNestedValue(part),
  ]);
  if (!entries.every(([name]) => isIndex(name))) return Object.fromEntries(entries);
  return entries.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, part]) => unwrapped(part));
}

function unwrapped(element: unknown): unknown {
  if (typeof element !== 'object' || element === null) return element;
  const [[name, inner] = ['', undefined], ...others] = Object.entries(element);
  if (others.length > 0) return element;
  if (name === 'json_schema') return parseContent(inner).value;
  return /^(message|tool|tool_call|message_content|document|embedding)$/.test(name)
    ? unwrapped(inner)
    : element;
}
