/** The text is no JSON document, or has more than is looked at. */
export class BadJson extends Error {}

/** What a value is, by its first character. */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'word';

const NO_KEY = 0xffff_ffff;
const FIRST_ROOM = 1024;

/** The arrays that an index is made of; they can be handed from a worker. */
export interface JsonNodes {
  count: number;
  /** Where the value begins and ends in the text. */
  start: Uint32Array;
  end: Uint32Array;
  /** The number of the node behind all that is in this one. */
  behind: Uint32Array;
  /** Where its name begins, with the quotation mark; `NO_KEY` in an array and at the top. */
  key: Uint32Array;
  depth: Uint32Array;
}

/**
 * Where the values of a JSON text are, in the order in which they stand. Nothing is parsed into values, so nothing is lost:
 * duplicate names, their order, `1.0`, numbers of any size, escapes as they were written. It is made in one pass
 * without recursion: neither depth nor length can hang it.
 */
export class JsonIndex {
  constructor(
    readonly text: string,
    readonly nodes: JsonNodes,
  ) {}

  kind(node: number): JsonKind {
    const first = this.text.charCodeAt(this.nodes.start[node]!);
    if (first === 0x7b) return 'object';
    if (first === 0x5b) return 'array';
    if (first === 0x22) return 'string';
    return first === 0x2d || (first >= 0x30 && first <= 0x39) ? 'number' : 'word';
  }

  /** The value as it was sent. */
  textOf(node: number): string {
    return this.text.slice(this.nodes.start[node], this.nodes.end[node]);
  }

  lengthOf(node: number): number {
    return this.nodes.end[node]! - this.nodes.start[node]!;
  }

  /** The name as it was sent, quotation marks included; undefined for items and for the whole. */
  keyOf(node: number): string | undefined {
    const from = this.nodes.key[node]!;
    return from === NO_KEY ? undefined : this.text.slice(from, endOfString(this.text, from));
  }

  hasChildren(node: number): boolean {
    return this.nodes.behind[node]! > node + 1;
  }

  *children(node: number): Generator<number> {
    const { behind } = this.nodes;
    for (let child = node + 1; child < behind[node]!; child = behind[child]!) yield child;
  }

  /** How many there are, counted up to a limit. */
  countChildren(node: number, limit = Infinity): number {
    let count = 0;
    for (const _ of this.children(node)) if (++count >= limit) break;
    return count;
  }

  /** The last member of that name: what a parser would take. */
  member(node: number, name: string): number | undefined {
    let found: number | undefined;
    for (const child of this.children(node))
      if (this.keyOf(child) === JSON.stringify(name)) found = child;
    return found;
  }
}

/** @throws BadJson */
export function jsonIndex(text: string): JsonIndex {
  return new JsonIndex(text, jsonNodes(text));
}

/** @throws BadJson */
export function jsonNodes(text: string): JsonNodes {
  const build = new Builder();
  /** The containers that are open, by their nodes. */
  const open: number[] = [];
  let at = skipBlank(text, 0);
  for (;;) {
    // a value begins here, or the name of one
    let key = NO_KEY;
    if (open.length > 0 && text.charCodeAt(build.start[open.at(-1)!]!) === 0x7b) {
      key = at;
      at = behindKey(text, at);
    }
    const node = build.add(at, key, open.length);
    const first = text.charCodeAt(at);
    if (first === 0x7b || first === 0x5b) {
      const inside = skipBlank(text, at + 1);
      if (text.charCodeAt(inside) !== first + 2) {
        open.push(node);
        at = inside;
        continue;
      }
      at = inside + 1;
    } else at = endOfScalar(text, at);
    build.close(node, at);
    // what is behind it: more of the same container, or its end
    for (;;) {
      at = skipBlank(text, at);
      const container = open.at(-1);
      if (container === undefined) {
        if (at < text.length) throw bad(text, at);
        return build.nodes();
      }
      const next = text.charCodeAt(at);
      if (next === 0x2c) {
        at = skipBlank(text, at + 1);
        break;
      }
      if (next !== text.charCodeAt(build.start[container]!) + 2) throw bad(text, at);
      at++;
      open.pop();
      build.close(container, at);
    }
  }
}

/** Where the value of a member begins. */
function behindKey(text: string, key: number): number {
  const colon = skipBlank(text, endOfString(text, key));
  if (text.charCodeAt(colon) !== 0x3a) throw bad(text, colon);
  return skipBlank(text, colon + 1);
}

class Builder {
  private count = 0;
  start = new Uint32Array(FIRST_ROOM);
  private end = new Uint32Array(FIRST_ROOM);
  private behind = new Uint32Array(FIRST_ROOM);
  private key = new Uint32Array(FIRST_ROOM);
  private depth = new Uint32Array(FIRST_ROOM);

  add(start: number, key: number, depth: number): number {
    const node = this.count++;
    if (node === this.start.length) this.grow();
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
    const { count } = this;
    const cut = (array: Uint32Array) => array.slice(0, count);
    return {
      count,
      start: cut(this.start),
      end: cut(this.end),
      behind: cut(this.behind),
      key: cut(this.key),
      depth: cut(this.depth),
    };
  }

  private grow(): void {
    const twice = (array: Uint32Array) => {
      const larger = new Uint32Array(array.length * 2);
      larger.set(array);
      return larger;
    };
    this.start = twice(this.start);
    this.end = twice(this.end);
    this.behind = twice(this.behind);
    this.key = twice(this.key);
    this.depth = twice(this.depth);
  }
}

function bad(text: string, at: number): BadJson {
  if (at >= text.length) return new BadJson('the JSON ends too early');
  return new BadJson(`no JSON at character ${at}: ${JSON.stringify(text.slice(at, at + 20))}`);
}

function skipBlank(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at++;
  }
}

/** Behind the closing quotation mark. */
function endOfString(text: string, from: number): number {
  if (text.charCodeAt(from) !== 0x22) throw bad(text, from);
  for (let at = from + 1; ;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw bad(text, text.length);
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

function endOfScalar(text: string, at: number): number {
  if (text.charCodeAt(at) === 0x22) return endOfString(text, at);
  SCALAR.lastIndex = at;
  if (!SCALAR.test(text)) throw bad(text, at);
  return SCALAR.lastIndex;
}
