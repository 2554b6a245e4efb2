import {
  closingBracket,
  CODES,
  SCALAR,
  skipSpace,
  skipString,
} from '../../../src/platform/json/json-grammar.ts';

const { QUOTE, COMMA, MINUS, ZERO, NINE, COLON, OPEN_BRACKET, OPEN_BRACE } = CODES;

/** A text that is no JSON document, or one of more characters or nodes than an index takes. */
export class InvalidJson extends Error {}

/** The kind of a value, known from its first character. */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'word';

const NO_KEY = 0xffff_ffff;
const FIRST_ROOM = 1024;

/** The arrays of an index, which a worker can transfer to the page. */
export interface JsonNodes {
  count: number;
  /** Offsets of the value's begin and end in the text. */
  start: Uint32Array;
  end: Uint32Array;
  /** The number of the first node after the node and all its descendants. */
  behind: Uint32Array;
  /** Offset of the quotation mark that begins its name; `NO_KEY` for items and the root. */
  key: Uint32Array;
  depth: Uint32Array;
}

/**
 * The positions of all values of a JSON text, in the order of the text. Nothing is parsed into values, so nothing is
 * lost: duplicate names, their order, `1.0`, numbers of any size, escapes. It is built in one pass without recursion,
 * so neither depth nor length can block it.
 */
export class JsonIndex {
  constructor(
    readonly text: string,
    readonly nodes: JsonNodes,
  ) {}

  kind(node: number): JsonKind {
    const first = this.text.charCodeAt(this.nodes.start[node]!);
    if (first === OPEN_BRACE) return 'object';
    if (first === OPEN_BRACKET) return 'array';
    if (first === QUOTE) return 'string';
    return first === MINUS || (first >= ZERO && first <= NINE) ? 'number' : 'word';
  }

  /** The value as it was sent. */
  nodeText(node: number): string {
    return this.text.slice(this.nodes.start[node], this.nodes.end[node]);
  }

  nodeLength(node: number): number {
    return this.nodes.end[node]! - this.nodes.start[node]!;
  }

  /** The name as it was sent, with its quotation marks; undefined for items and the root. */
  nodeKey(node: number): string | undefined {
    const from = this.nodes.key[node]!;
    return from === NO_KEY ? undefined : this.text.slice(from, skipString(this.text, from));
  }

  hasChildren(node: number): boolean {
    return this.nodes.behind[node]! > node + 1;
  }

  *children(node: number): Generator<number> {
    const { behind } = this.nodes;
    for (let child = node + 1; child < behind[node]!; child = behind[child]!) yield child;
  }

  /** The number of children, counted up to a limit. */
  countChildren(node: number, limit = Infinity): number {
    let count = 0;
    for (const _ of this.children(node)) if (++count >= limit) break;
    return count;
  }

  /** The last member of this name, which is the one that parsers use. */
  member(node: number, name: string): number | undefined {
    let found: number | undefined;
    for (const child of this.children(node))
      if (this.nodeKey(child) === JSON.stringify(name)) found = child;
    return found;
  }
}

/** @throws InvalidJson */
export function jsonIndex(text: string): JsonIndex {
  return new JsonIndex(text, jsonNodes(text));
}

/** @throws InvalidJson */
export function jsonNodes(text: string): JsonNodes {
  const build = new Builder();
  /** The nodes of the open containers. */
  const open: number[] = [];
  let at = skipSpace(text, 0);
  for (;;) {
    // a value or the name of a member begins here
    let key = NO_KEY;
    if (open.length > 0 && text.charCodeAt(build.start[open.at(-1)!]!) === OPEN_BRACE) {
      key = at;
      at = behindKey(text, at);
    }
    const node = build.add(at, key, open.length);
    const first = text.charCodeAt(at);
    if (first === OPEN_BRACE || first === OPEN_BRACKET) {
      const inside = skipSpace(text, at + 1);
      if (text.charCodeAt(inside) !== closingBracket(first)) {
        open.push(node);
        at = inside;
        continue;
      }
      at = inside + 1;
    } else at = behindScalar(text, at);
    build.close(node, at);
    const next = behindValue(text, at, { open, build });
    if (next === null) return build.nodes();
    at = next;
  }
}

/** Closes the containers that end here. Returns the offset of the next item, or null at the end of the text. */
function behindValue(
  text: string,
  end: number,
  { open, build }: { open: number[]; build: Builder },
): number | null {
  for (let at = end; ;) {
    at = skipSpace(text, at);
    const container = open.at(-1);
    if (container === undefined) {
      if (at < text.length) throw bad(text, at);
      return null;
    }
    const next = text.charCodeAt(at);
    if (next === COMMA) return skipSpace(text, at + 1);
    if (next !== closingBracket(text.charCodeAt(build.start[container]!))) throw bad(text, at);
    at++;
    open.pop();
    build.close(container, at);
  }
}

/** Returns the offset of a member's value. */
function behindKey(text: string, key: number): number {
  if (text.charCodeAt(key) !== QUOTE) throw bad(text, key);
  const colon = skipSpace(text, behindString(text, key));
  if (text.charCodeAt(colon) !== COLON) throw bad(text, colon);
  return skipSpace(text, colon + 1);
}

function behindString(text: string, at: number): number {
  const end = skipString(text, at);
  if (end > text.length) throw bad(text, end);
  return end;
}

function behindScalar(text: string, at: number): number {
  if (text.charCodeAt(at) === QUOTE) return behindString(text, at);
  SCALAR.lastIndex = at;
  if (!SCALAR.test(text)) throw bad(text, at);
  return SCALAR.lastIndex;
}

function bad(text: string, at: number): InvalidJson {
  if (at >= text.length) return new InvalidJson('the JSON ends too early');
  return new InvalidJson(`not JSON at character ${at}: ${JSON.stringify(text.slice(at, at + 20))}`);
}

const COLUMNS = ['start', 'end', 'behind', 'key', 'depth'] as const;

class Builder implements JsonNodes {
  count = 0;
  start = new Uint32Array(FIRST_ROOM);
  end = new Uint32Array(FIRST_ROOM);
  behind = new Uint32Array(FIRST_ROOM);
  key = new Uint32Array(FIRST_ROOM);
  depth = new Uint32Array(FIRST_ROOM);

  add(start: number, key: number, depth: number): number {
    const node = this.count++;
    if (node === this.start.length) this.resize(2 * node);
    this.start[node] = start;
    this.key[node] = key;
    this.depth[node] = depth;
    return node;
  }

  close(node: number, end: number): void {
    this.end[node] = end;
    this.behind[node] = this.count;
  }

  nodes(): JsonNodes {
    this.resize(this.count);
    const { count, start, end, behind, key, depth } = this;
    return { count, start, end, behind, key, depth };
  }

  private resize(room: number): void {
    for (const name of COLUMNS) {
      const column = new Uint32Array(room);
      column.set(this[name].subarray(0, room));
      this[name] = column;
    }
  }
}
