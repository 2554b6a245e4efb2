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

/** A place that paths lead to or through. */
class Place {
  readonly next = new Map<PathStep, Place>();
  /** Where it was found last, and in which visit of the place before it: of a repeated key the last value wins. */
  span: Span | undefined;
  visit = 0;
  visitBefore = 0;
}

/**
 * The JSON texts that paths lead to, undefined where a step leads nowhere. All paths are looked up in one pass over the
 * text, so the time does not grow with their number and length times the text.
 */
export function textsAt(
  text: string,
  paths: readonly (readonly PathStep[])[],
): (string | undefined)[] {
  const root = new Place();
  const trails = paths.map((path) => {
    const trail = [root];
    for (const step of path) {
      const { next } = trail.at(-1)!;
      let place = next.get(step);
      if (!place) next.set(step, (place = new Place()));
      trail.push(place);
    }
    return trail;
  });
  new Search(text).visit(root, 0, 0);
  return trails.map((trail) => {
    const isThere = trail.every((place, i) => i === 0 || place.visitBefore === trail[i - 1]!.visit);
    const { span } = trail.at(-1)!;
    return isThere && span ? text.slice(...span) : undefined;
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
    const first = place.next.size > 0 ? text[start] : undefined;
    let end: number;
    if (first === '{') end = this.members(place, start);
    else if (first === '[') end = this.elements(place, start);
    else end = skipValue(text, start);
    place.span = [start, end];
    return end;
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
