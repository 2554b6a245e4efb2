import { CODES, Cursor, type TooDeep, UNLIMITED } from './json-grammar.js';

/*
 * Free-form JSON is stored and answered as it was sent, so what travels is a slice of the text. The slices are found
 * without building values, in text that `JSON.parse` accepted.
 */

const { OPEN_BRACE, OPEN_BRACKET } = CODES;

/** Where a value lies: `text.slice(start, end)` is the value, without the white space around it. */
export type TextRange = readonly [start: number, end: number];

/**
 * The members of the object at `at`, keys decoded. Of a repeated key the last value wins, at the place of the first,
 * as in `JSON.parse`.
 */
export function memberSpans(text: string, at: number, depth = 1): Map<string, TextRange> {
  const spans = new Map<string, TextRange>();
  const cursor = new Cursor(text, at);
  while (cursor.next()) spans.set(cursor.key!, [cursor.at, cursor.skip(depth)]);
  return spans;
}

/** The texts of the members of an object, by name. */
export const memberTexts = (object: string): Map<string, string> =>
  new Map([...memberSpans(object, 0)].map(([name, span]) => [name, object.slice(...span)]));

/** The text of the object that has these members. */
export const objectText = (members: Iterable<[name: string, text: string]>): string =>
  `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;

/** The elements of the array at `at`. */
export function elementSpans(text: string, at: number, depth = 1): TextRange[] {
  const spans: TextRange[] = [];
  const cursor = new Cursor(text, at);
  while (cursor.next()) spans.push([cursor.at, cursor.skip(depth)]);
  return spans;
}

/**
 * The texts of the elements of an array, which is a member of an object's text. Their depth is not checked, so that
 * an element that is too deep can be refused by itself.
 */
export function elementTexts(text: string, name: string): string[] {
  const [start] = memberSpans(text, 0, UNLIMITED).get(name)!;
  return elementSpans(text, start, UNLIMITED).map((span) => text.slice(...span));
}

/** The text of the value at a path of members in an object's text. The path must exist. */
export function valueAt(text: string, ...names: string[]): string {
  return names.reduce((value, name) => value.slice(...memberSpans(value, 0).get(name)!), text);
}

/** Values to find: `true` is the value itself; else these members of it, or `[shape]` in each of its elements. */
export type Shape = true | readonly [Shape] | { readonly [member: string]: Shape };

/** The texts that a shape finds; undefined where a value is missing or is another kind of container. */
export type Texts<S extends Shape> = S extends true
  ? string
  : S extends readonly [infer E extends Shape]
    ? (Texts<E> | TooDeep | undefined)[]
    : S extends { readonly [member: string]: Shape }
      ? { [K in keyof S]?: Texts<S[K]> }
      : never;

/**
 * The texts of the values that the shape names, in one pass. The depth of an element counts from itself, and one that
 * is too deep is a `TooDeep` in its place, so that it can be refused by itself. @throws TooDeep outside elements
 */
export function textsIn<const S extends Shape>(text: string, shape: S): Texts<S> | undefined {
  return readShape(new Cursor(text, 0), shape, 0) as Texts<S> | undefined;
}

/** What the shape finds in the value on which the cursor stands. Moves the cursor behind it. */
function readShape(cursor: Cursor, shape: Shape, depth: number): unknown {
  const { first, at } = cursor;
  if (isList(shape) && first === OPEN_BRACKET) return readElements(cursor, shape[0]);
  if (isMembers(shape) && first === OPEN_BRACE) return readMembers(cursor, shape, depth + 1);
  const end = cursor.skip(depth);
  return shape === true ? cursor.text.slice(at, end) : undefined;
}

function readMembers(cursor: Cursor, shape: Record<string, Shape>, depth: number) {
  const texts: Record<string, unknown> = {};
  const members = cursor.inside();
  while (members.next()) {
    const name = members.keyIn(shape);
    if (name === undefined) members.skip(depth);
    else texts[name] = readShape(members, shape[name]!, depth);
  }
  cursor.at = members.at;
  return texts;
}

function readElements(cursor: Cursor, shape: Shape): unknown[] {
  const texts: unknown[] = [];
  const elements = cursor.inside();
  while (elements.next()) {
    try {
      texts.push(readShape(elements, shape, 0));
    } catch (error) {
      texts.push(error);
      elements.skip(UNLIMITED);
    }
  }
  cursor.at = elements.at;
  return texts;
}

const isList = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape);
const isMembers = (shape: Shape): shape is Record<string, Shape> =>
  shape !== true && !isList(shape);
