import { formatJson } from '../../json/json-format.ts';
import { type JsonIndex, jsonIndex } from '../../json/json-index.ts';
import { decoded } from '../../json/visible-text.ts';

/** Names of members and indexes of items. */
type TextPath = (string | number)[];

/** Parses a path in the service's spelling: `reward.sum[0].path`. */
const readPath = (path: string): TextPath =>
  Array.from(path.matchAll(/([^.[\]]+)|\[(\d+)\]/g), ([, name, place]) => name ?? Number(place));

/** The node at a path; undefined without one. */
export function nodeAt(index: JsonIndex, path: string): number | undefined {
  let node: number | undefined = 0;
  for (const part of readPath(path)) {
    node = childAt(index, node, part);
    if (node === undefined) return undefined;
  }
  return node;
}

function childAt(index: JsonIndex, node: number, part: string | number): number | undefined {
  const kind = index.kind(node);
  if (typeof part === 'string') return kind === 'object' ? index.member(node, part) : undefined;
  return kind === 'array' ? [...index.children(node)][part] : undefined;
}

/**
 * Sets the value at a path and formats the text again. All other values keep their text.
 *
 * @throws InvalidJson
 */
export function withValue(text: string, path: string, value: string): string {
  const index = jsonIndex(text);
  const parts = readPath(path);
  let node = 0;
  for (const [n, part] of parts.entries()) {
    const child = childAt(index, node, part);
    if (child === undefined) return reformat(withMember(index, node, parts.slice(n), value));
    node = child;
  }
  return reformat(replaceNode(index, node, value));
}

/**
 * Removes the value at a path.
 *
 * @throws InvalidJson
 */
export function withoutValue(text: string, path: string): string {
  const index = jsonIndex(text);
  const parts = readPath(path);
  const [node, parent] = [nodeAt(index, path), parentAt(index, parts)];
  if (node === undefined || parent === undefined) return text;
  const children = [...index.children(parent)];
  const place = children.indexOf(node);
  const [before, behind] = [children[place - 1], children[place + 1]];
  const { end } = index.nodes;
  const from = before === undefined ? beginning(index, node) : end[before]!;
  const to = before === undefined && behind !== undefined ? beginning(index, behind) : end[node]!;
  return reformat(text.slice(0, from) + text.slice(to));
}

function parentAt(index: JsonIndex, parts: TextPath): number | undefined {
  let node: number | undefined = 0;
  for (const part of parts.slice(0, -1)) {
    node = childAt(index, node, part);
    if (node === undefined) return undefined;
  }
  return node;
}

const reformat = (text: string) => formatJson(jsonIndex(text));

const replaceNode = ({ text, nodes }: JsonIndex, node: number, value: string) =>
  text.slice(0, nodes.start[node]) + value + text.slice(nodes.end[node]);

/** Offset of a value, including its name. */
function beginning(index: JsonIndex, node: number): number {
  return index.nodeKey(node) === undefined ? index.nodes.start[node]! : index.nodes.key[node]!;
}

/** Adds the missing members below a node. A node that cannot have members is replaced. */
function withMember(index: JsonIndex, node: number, missing: TextPath, value: string): string {
  const [part, ...below] = missing as [string | number, ...TextPath];
  const inside = below.reduceRight<string>((inner, name) => container(name, inner), value);
  const kind = typeof part === 'string' ? 'object' : 'array';
  if (index.kind(node) !== kind) return replaceNode(index, node, container(part, inside));
  const added = typeof part === 'string' ? `${JSON.stringify(part)}:${inside}` : inside;
  const at = index.nodes.end[node]! - 1;
  const comma = index.hasChildren(node) ? ',' : '';
  return index.text.slice(0, at) + comma + added + index.text.slice(at);
}

const container = (part: string | number, inside: string) =>
  typeof part === 'string' ? `{${JSON.stringify(part)}:${inside}}` : `[${inside}]`;

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** The JSON for a typed number. Any other text becomes a string, so that the service reports what is wrong. */
export const numberJson = (typed: string): string =>
  NUMBER.test(typed.trim()) ? typed.trim() : JSON.stringify(typed);

/** The JSON list of a text with one item per line. */
export const listJson = (typed: string): string =>
  JSON.stringify(
    typed
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  );

/**
 * The text that a field shows: a string without quotation marks, a list with one item per line, other values unchanged.
 */
export function shownValue(index: JsonIndex, node: number | undefined): string {
  if (node === undefined) return '';
  const kind = index.kind(node);
  if (kind === 'string') return decoded(index.nodeText(node));
  if (kind === 'word' && index.nodeText(node) === 'null') return '';
  if (kind !== 'array') return index.nodeText(node);
  return [...index.children(node)].map((child) => shownValue(index, child)).join('\n');
}
