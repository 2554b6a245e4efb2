import { skipValue } from '../common/json-text.js';
import type { AnyValue, KeyValue } from './otlp.js';

/** Attributes by name, as JSON values. Of a repeated name the last value counts. */
export type Attributes = Map<string, unknown>;

export const attributesOf = (list: KeyValue[] = []): Attributes =>
  new Map(list.map(({ key = '', value = {} }) => [key, jsonOf(value)]));

/** Whole numbers beyond 2^53 stay texts, bytes are base64. The decoder bounds how deep values lie. */
function jsonOf(value: AnyValue): unknown {
  if (value.intValue !== undefined) {
    const number = Number(value.intValue);
    return Number.isSafeInteger(number) ? number : value.intValue;
  }
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(jsonOf);
  if (value.kvlistValue) return Object.fromEntries(attributesOf(value.kvlistValue.values));
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? value.bytesValue ?? null;
}

/** The first of the names that has a value. */
export const first = (attributes: Attributes, names: readonly string[]): unknown =>
  names.map((name) => attributes.get(name)).find((value) => value !== undefined && value !== null);

/** The first of the names that has a text or a number, as text; empty ones do not count. */
export function firstText(attributes: Attributes, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = attributes.get(name);
    if (typeof value === 'number' || (typeof value === 'string' && value !== '')) return `${value}`;
  }
  return undefined;
}

/** Texts with more of these, of which JSON has one a value, stay texts: a short text may hold millions of values. */
const VALUES = /[[{,]/g;
const MAX_VALUES = 200_000;

/** The JSON that a text holds, if it looks like an object or array and is one; texts in lists too. */
export function parsed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(parsed);
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value) || hasManyValues(value)) return value;
  try {
    const json: unknown = JSON.parse(value);
    skipValue(value, 0); // throws where it is too deep to be written again
    return json;
  } catch {
    return value;
  }
}

function hasManyValues(text: string): boolean {
  VALUES.lastIndex = 0;
  for (let count = 0; VALUES.test(text); count++) if (count === MAX_VALUES) return true;
  return false;
}

/**
 * The list that attributes spell one by one, as `gen_ai.prompt.0.role` and `llm.input_messages.0.message.content` do;
 * undefined when there are none.
 */
export function indexed(attributes: Attributes, prefix: string): unknown[] | undefined {
  const tree: Tree = new Map();
  for (const [name, value] of attributes) {
    const path = name.startsWith(`${prefix}.`) ? name.slice(prefix.length + 1).split('.') : [];
    if (path.length > 0 && path.length <= MAX_PATH && isIndex(path[0]!)) plant(tree, path, value);
  }
  return tree.size > 0 ? (grown(tree) as unknown[]) : undefined;
}

type Tree = Map<string, unknown>;

/** Names that go deeper are no spelled-out lists. */
const MAX_PATH = 16;

const isIndex = (step: string) => /^\d{1,6}$/.test(step);

function plant(tree: Tree, path: string[], value: unknown): void {
  let node = tree;
  for (const step of path.slice(0, -1)) {
    let next = node.get(step);
    if (!(next instanceof Map)) node.set(step, (next = new Map()));
    node = next as Tree;
  }
  node.set(path.at(-1)!, value);
}

/** Nodes whose names are all numbers are lists; the wrappers of OpenInference around each element go. */
function grown(value: unknown): unknown {
  if (!(value instanceof Map)) return value;
  const entries = [...(value as Tree)].map(([name, part]): [string, unknown] => [
    name,
    grown(part),
  ]);
  if (!entries.every(([name]) => isIndex(name))) return Object.fromEntries(entries);
  return entries.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, part]) => unwrapped(part));
}

function unwrapped(element: unknown): unknown {
  if (typeof element !== 'object' || element === null) return element;
  const [[name, inner] = ['', undefined], ...others] = Object.entries(element);
  return others.length === 0 && /^(message|tool_call|message_content|document)$/.test(name)
    ? inner
    : element;
}
