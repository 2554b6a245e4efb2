import { Cursor } from './json-grammar.js';
import type { TextRange } from './json-text.js';

/** A member by its name, or an element by its number. */
export type PathStep = string | number;

type Path = readonly PathStep[];

/** A place of the text that paths lead to or through. One that is never reached has none below it, however long its paths are. */
class PathNode {
  /** Where it was found last, and in which visit of the place before it: of a repeated key the last value wins. */
  span: TextRange | undefined;
  visit = 0;
  visitBefore = 0;
  private below: Map<PathStep, PathNode> | undefined;

  constructor(
    private readonly paths: Path[],
    private readonly depth: number,
  ) {}

  /** The places where its paths go on, by their steps. */
  get next(): Map<PathStep, PathNode> {
    if (this.below) return this.below;
    this.below = new Map();
    for (const path of this.paths) {
      const step = path[this.depth];
      if (step === undefined) continue;
      const place = this.below.get(step);
      if (place) place.paths.push(path);
      else this.below.set(step, new PathNode([path], this.depth + 1));
    }
    return this.below;
  }

  /** Where the path leads from here. */
  findSpan(path: Path): TextRange | undefined {
    if (path.length === this.depth) return this.span;
    const place = this.below?.get(path[this.depth]!);
    return place?.visitBefore === this.visit ? place.findSpan(path) : undefined;
  }
}

/**
 * The JSON texts that paths lead to, undefined where a step leads nowhere. All paths are looked up in one pass over the
 * text, so the time does not grow with their number and length times the text.
 */
export function textsAt(text: string, paths: readonly Path[]): (string | undefined)[] {
  const root = new PathNode([...paths], 0);
  new PathSearch().visit(root, new Cursor(text, 0), 0);
  return paths.map((path) => {
    const span = root.findSpan(path);
    return span && text.slice(...span);
  });
}

class PathSearch {
  private visits = 0;

  /** Finds what lies below a place, on whose value the cursor stands. Moves the cursor behind it. */
  visit(place: PathNode, cursor: Cursor, visitBefore: number): void {
    const { at } = cursor;
    place.visit = ++this.visits;
    place.visitBefore = visitBefore;
    if (cursor.isContainer && place.next.size > 0) this.items(place, cursor);
    else cursor.skip();
    place.span = [at, cursor.at];
  }

  private items(place: PathNode, cursor: Cursor): void {
    const items = cursor.inside();
    for (let n = 0; items.next(); n++) {
      const next = place.next.get(items.key ?? n);
      if (next) this.visit(next, items, place.visit);
      else items.skip();
    }
    cursor.at = items.at;
  }
}
