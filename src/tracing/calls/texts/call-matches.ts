import type { DocumentReader } from '../../../platform/http/document-reader.js';
import { Cursor, skipString } from '../../../platform/json/json-grammar.js';
import {
  decodeEscapes,
  isLikeJson,
  MAX_JSON_LEVELS,
  nestedStrings,
} from '../../../platform/json/searchable-text.js';
import { foldCase } from '../../../platform/json/fold-case.js';
import { escapedStep, MAX_NAME, MAX_STEPS, storable } from '../../../platform/query/columns.js';
import { EventLoopTurn } from '../../../platform/time/event-loop-turn.js';

/** Code points of the text on each side of a match. */
const AROUND = 40;
/** Characters that are folded, decoded or searched before other requests get a turn. */
const SLICE = 256 * 1024;

/** A text inside a document, with the text around it. */
export interface TextMatch {
  path: string;
  before: string;
  match: string;
  after: string;
}

/** Finds where documents say a text, by the rule of `$contains` (`skein_says` in query.sql). */
export class MatchFinder {
  private readonly turn = new EventLoopTurn();
  private readonly needle: string;

  constructor(
    text: string,
    private readonly isFolded: boolean,
    private readonly documents: DocumentReader,
  ) {
    const stored = storable(text);
    this.needle = isFolded ? foldCase(stored) : stored;
  }

  /**
   * Returns the first match in each key and each value of a JSON text, at most `most`. A text that no key or value
   * contains is searched in the whole document, because a match may begin in one value and end in another.
   * @throws ApiError `too_large`, `unavailable`
   */
  async matches(json: string, root: string, most: number): Promise<TextMatch[]> {
    await this.documents.pass(6 * json.length);
    const found: TextMatch[] = [];
    const walk = new TextWalk(json);
    for (const value of walk.values()) {
      if (this.turn.isOver) await this.turn.next();
      const text = value.includes('\\')
        ? await this.documents.read<string>(value)
        : unquoted(value);
      const isShort = text.length <= SLICE && !text.includes('\\');
      const match = isShort ? this.shortMatch(text) : await this.match(text, 1);
      if (match && found.push({ path: walk.path(root), ...match }) === most) break;
    }
    if (found.length > 0 || !new Cursor(json, 0).isContainer) return found;
    const whole = await this.spelled(await this.decoded(json));
    return whole ? [{ path: root, ...whole }] : [];
  }

  private shortMatch(text: string) {
    const stored = storable(text);
    const at = this.indexIn(stored, 0, stored.length);
    return at < 0 ? null : this.around(stored, at);
  }

  /** Searches a text, and the texts inside it if it is JSON. `depth` is the number of documents around it. */
  private async match(text: string, depth: number): Promise<Omit<TextMatch, 'path'> | null> {
    await this.documents.pass(2 * text.length * (depth + 3));
    const own = await this.spelled(text);
    if (own || depth >= MAX_JSON_LEVELS || !text.includes('\\') || !isLikeJson(text)) return own;
    const decoded = await this.spelled(await this.decoded(text));
    if (decoded) return decoded;
    for (const nested of nestedStrings(text)) {
      const inside = await this.match(await this.decoded(nested), depth + 1);
      if (inside) return inside;
    }
    return null;
  }

  /** Returns the first match in a text as it is spelled. */
  private async spelled(text: string) {
    const stored = storable(text);
    for (let from = 0; from < stored.length; from += SLICE) {
      const at = this.indexIn(stored, from, from + SLICE + this.needle.length);
      if (at >= 0) return this.around(stored, at);
      if (this.turn.isOver) await this.turn.next();
    }
    return null;
  }

  private indexIn(text: string, from: number, to: number): number {
    const slice = text.slice(from, to);
    const at = (this.isFolded ? foldCase(slice) : slice).indexOf(this.needle);
    return at < 0 ? at : from + at;
  }

  private around(text: string, at: number) {
    const end = at + this.needle.length;
    // one character more than `AROUND` pairs, so that half a pair at the edge is cut off
    const before = Array.from(text.slice(Math.max(0, at - 2 * AROUND - 2), at)).slice(-AROUND);
    const after = Array.from(text.slice(end, end + 2 * AROUND + 2)).slice(0, AROUND);
    return {
      before: copyOf(before.join('')),
      match: copyOf(text.slice(at, end)),
      after: copyOf(after.join('')),
    };
  }

  private async decoded(text: string): Promise<string> {
    const parts: string[] = [];
    for (let from = 0; from < text.length;) {
      const to = betweenEscapes(text, from, from + SLICE);
      parts.push(decodeEscapes(text.slice(from, to)));
      from = to;
      if (this.turn.isOver) await this.turn.next();
    }
    return parts.join('');
  }
}

const unquoted = (json: string) => (json.startsWith('"') ? json.slice(1, -1) : json);

/** Copies a text: a slice would keep the whole original in memory. */
const copyOf = (text: string) => Buffer.from(text, 'utf16le').toString('utf16le');

/** Returns a position at or shortly before `to` that is not inside an escape. No escape may contain `from`. */
function betweenEscapes(text: string, from: number, to: number): number {
  if (to >= text.length) return text.length;
  const last = text.slice(to - 6, to).lastIndexOf('\\') + to - 6;
  if (last < to - 6) return to;
  let run = last;
  while (run > from && text[run - 1] === '\\') run--;
  return (last - run) % 2 === 0 ? last : to;
}

/** Yields the keys and the scalars of a JSON text, as JSON. `path` tells where the yielded one is. */
class TextWalk {
  private readonly levels: { items: Cursor; place: number }[] = [];

  constructor(private readonly json: string) {}

  *values(): Generator<string> {
    const root = new Cursor(this.json, 0);
    if (!root.isContainer) {
      if (this.json.trim() !== 'null') yield this.scalar(root);
      return;
    }
    this.enter(root);
    for (let level = this.levels.at(-1); level; level = this.levels.at(-1)) {
      const { items } = level;
      level.place++;
      if (!items.next()) {
        this.levels.pop();
        const outer = this.levels.at(-1);
        if (outer) outer.items.at = items.at;
        continue;
      }
      if (items.key !== undefined)
        yield this.json.slice(items.keyAt, skipString(this.json, items.keyAt));
      if (items.isContainer) this.enter(items);
      else yield this.scalar(items);
    }
  }

  /** Spells the path as the query language does. Ends at a container whose path is not too long for it. */
  path(root: string): string {
    let path = root;
    for (const { items, place } of this.levels.slice(0, MAX_STEPS - 1)) {
      const next = `${path}.${escapedStep(items.key ?? String(place))}`;
      if (next.length > MAX_NAME) break;
      path = next;
    }
    return path;
  }

  private enter(value: Cursor): void {
    this.levels.push({ items: value.inside(), place: -1 });
  }

  private scalar(value: Cursor): string {
    const from = value.at;
    return this.json.slice(from, value.skip());
  }
}
