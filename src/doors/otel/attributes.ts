import { isObject } from '../../platform/json/json-object.js';
import { skipValue } from '../../platform/json/json-grammar.js';
import { memberSpans } from '../../platform/json/json-text.js';
import type { AnyValue, KeyValue } from './otlp.js';

/** Attributes by name, as JSON values. The last value of a repeated name counts. */
export type Attributes = Map<string, unknown>;

export function readAttributes(list: KeyValue[] = []): Attributes {
  const attributes: Attributes = new Map();
  for (const { key = '', value } of list) attributes.set(key, value ? toJson(value) : null);
  return attributes;
}

/** Whole numbers beyond 2^53 stay texts; bytes become base64. The decoder limits the depth of values. */
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

/** A value with the JSON text that is stored. JSON within an attribute keeps its spelling. */
export interface Content {
  value: unknown;
  text: string;
}

export const toContent = (value: unknown): Content => ({
  value,
  text: JSON.stringify(value) ?? 'null',
});

/**
 * Matches characters of which JSON has at least one per value. Texts with more than `MAX_VALUES` matches stay texts,
 * because a short text may hold millions of values.
 */
const VALUES = /[[{,]/g;
const MAX_VALUES = 200_000;
/** Reserved levels of nesting for containers that may be put around the value of a text. */
const WRAPPERS = 10;

/**
 * Parses a text that looks like a JSON object, array or string, and each text of a list. Other values stay unchanged.
 */
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
    skipValue(value, 0, WRAPPERS); // throws when the value is too deep to be stored
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

export function contentMembers({ value, text }: Content): [name: string, member: Content][] {
  if (!isObject(value)) return [];
  return [...memberSpans(text, 0)].map(([name, span]) => [
    name,
    { value: value[name], text: text.slice(...span) },
  ]);
}

/**
 * Rebuilds a list that is spelled out as attributes, such as `gen_ai.prompt.0.role` or
 * `llm.input_messages.0.message.content`. The paths have no prefix. Paths with more than `MAX_PATH` steps are ignored.
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

/**
 * Converts nodes whose names are all numbers into lists. Wrappers that OpenInference puts around each element are
 * removed.
 */
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
