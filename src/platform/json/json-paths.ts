import { Cursor } from './json-grammar.js';
import type { TextRange } from './json-text.js';

export type PathStep = string | number;

type Path = readonly PathStep[];

/** A node of the tree of all paths. A node that is never reached gets no children, however long its paths are. */
class PathNode {
  /** Range found last, and the visit of the parent in which it was found. The last value of a repeated key counts. */
  span: TextRange | undefined;
  visit = 0;
  visitBefore = 0;
  private below: Map<PathStep, PathNode> | undefined;

  constructor(
    private readonly paths: Path[],
    private readonly depth: number,
  ) {}

  /** Child nodes, keyed by the next step of the paths. */
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

  findSpan(path: Path): TextRange | undefined {
    if (path.length === this.depth) return this.span;
    const place = this.below?.get(path[this.depth]!);
    return place?.visitBefore === this.visit ? place.findSpan(path) : undefined;
  }
}

/**
 * Returns the JSON texts at the paths, undefined where a path does not exist. One pass over the text finds all of them,
 * so the time does not grow with the number of paths times the length of the text.
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

  /** Visits a node whose value is at the cursor, and its children. Moves the cursor to the end of the value. */
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
