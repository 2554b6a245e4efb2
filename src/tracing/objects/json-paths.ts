import {
  afterComma,
  decoded,
  skipSpace,
  skipString,
  skipValue,
  type Span,
} from '../../platform/json/json-text.js';

/** A member by its name, or an element by its number. */
export type PathStep = string | number;

type Path = readonly PathStep[];

/** A place of the text that paths lead to or through. One that is never reached has none below it, however long its paths are. */
class Place {
  /** Where it was found last, and in which visit of the place before it: of a repeated key the last value wins. */
  span: Span | undefined;
  visit = 0;
  visitBefore = 0;
  private below: Map<PathStep, Place> | undefined;

  constructor(
    private readonly paths: Path[],
    private readonly depth: number,
  ) {}

  /** The places where its paths go on, by their steps. */
  get next(): Map<PathStep, Place> {
    if (this.below) return this.below;
    this.below = new Map();
    for (const path of this.paths) {
      const step = path[this.depth];
      if (step === undefined) continue;
      const place = this.below.get(step);
      if (place) place.paths.push(path);
      else this.below.set(step, new Place([path], this.depth + 1));
    }
    return this.below;
  }

  /** Where the path leads from here. */
  spanOf(path: Path): Span | undefined {
    if (path.length === this.depth) return this.span;
    const place = this.below?.get(path[this.depth]!);
    return place?.visitBefore === this.visit ? place.spanOf(path) : undefined;
  }
}

/**
 * The JSON texts that paths lead to, undefined where a step leads nowhere. All paths are looked up in one pass over the
 * text, so the time does not grow with their number and length times the text.
 */
export function textsAt(text: string, paths: readonly Path[]): (string | undefined)[] {
  const root = new Place([...paths], 0);
  new Search(text).visit(root, 0, 0);
  return paths.map((path) => {
    const span = root.spanOf(path);
    return span && text.slice(...span);
  });
}

class Search {
  private visits = 0;

  constructor(private readonly text: string) {}

  /** Finds what lies below a place, whose value is at `at`. Answers where the value ends. */
  visit(place: Place, at: number, visitBefore: number): number {
    const { text } = this;
    const start = skipSpace(text, at);
    place.visit = ++this.visits;
    place.visitBefore = visitBefore;
    const end = this.endOf(place, start);
    place.span = [start, end];
    return end;
  }

  private endOf(place: Place, start: number): number {
    const { text } = this;
    if ((text[start] === '{' || text[start] === '[') && place.next.size > 0)
      return text[start] === '{' ? this.members(place, start) : this.elements(place, start);
    return skipValue(text, start);
  }

  private members(place: Place, start: number): number {
    const { text } = this;
    let i = skipSpace(text, start + 1);
    while (i < text.length && text[i] !== '}') {
      const keyEnd = skipString(text, i);
      const next = place.next.get(decoded(text.slice(i + 1, keyEnd - 1)));
      i = afterComma(text, this.value(place, next, skipSpace(text, keyEnd) + 1));
    }
    return i + 1;
  }

  private elements(place: Place, start: number): number {
    const { text } = this;
    let i = skipSpace(text, start + 1);
    for (let n = 0; i < text.length && text[i] !== ']'; n++)
      i = afterComma(text, this.value(place, place.next.get(n), i));
    return i + 1;
  }

  private value(place: Place, next: Place | undefined, at: number): number {
    return next ? this.visit(next, at, place.visit) : skipValue(this.text, at);
  }
}
