import { CODES, Cursor, type TooDeep, UNLIMITED } from './json-grammar.js';

/*
 * Free-form JSON is stored and returned as it was sent, so the service handles slices of the text. They are found
 * without building values, in text that `JSON.parse` accepted.
 */

const { OPEN_BRACE, OPEN_BRACKET } = CODES;

/** Range of a value: `text.slice(start, end)` is the value without the white space around it. */
export type TextRange = readonly [start: number, end: number];

/**
 * Returns the ranges of the members of the object at `at`, keyed by decoded names. As in `JSON.parse`, the last value
 * of a repeated key counts, at the position of the first.
 */
export function memberSpans(text: string, at: number, depth = 1): Map<string, TextRange> {
  const spans = new Map<string, TextRange>();
  const cursor = new Cursor(text, at);
  while (cursor.next()) spans.set(cursor.key!, [cursor.at, cursor.skip(depth)]);
  return spans;
}

export const memberTexts = (object: string): Map<string, string> =>
  new Map([...memberSpans(object, 0)].map(([name, span]) => [name, object.slice(...span)]));

export const objectText = (members: Iterable<[name: string, text: string]>): string =>
  `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;

/** Returns the JSON text of an object, with members whose values are JSON texts behind its own. */
export const objectWith = (values: object, texts: Record<string, string>): string =>
  objectText([
    ...Object.entries(values).map(([name, value]): [string, string] => [
      name,
      JSON.stringify(value),
    ]),
    ...Object.entries(texts),
  ]);

export function elementSpans(text: string, at: number, depth = 1): TextRange[] {
  const spans: TextRange[] = [];
  const cursor = new Cursor(text, at);
  while (cursor.next()) spans.push([cursor.at, cursor.skip(depth)]);
  return spans;
}

export const elementTexts = (array: string, depth?: number): string[] =>
  elementSpans(array, 0, depth).map((span) => array.slice(...span));

/**
 * Returns the texts of the elements of the array that is the member `name` of an object. Their depth is not checked, so
 * that an element that is too deep can be refused alone.
 */
export function memberElements(text: string, name: string): string[] {
  const span = memberSpans(text, 0, UNLIMITED).get(name)!;
  return elementTexts(text.slice(...span), UNLIMITED);
}

/** Returns the text of the value at a path of member names. The path must exist. */
export function valueAt(text: string, ...names: string[]): string {
  return names.reduce((value, name) => value.slice(...memberSpans(value, 0).get(name)!), text);
}

/**
 * Values to find: `true` is the value itself, an object names members of it, and `[shape]` applies to each of its
 * elements.
 */
export type Shape = true | readonly [Shape] | { readonly [member: string]: Shape };

/** The texts that a shape finds. Undefined when a value is missing or is another kind of container. */
export type Texts<S extends Shape> = S extends true
  ? string
  : S extends readonly [infer E extends Shape]
    ? (Texts<E> | TooDeep | undefined)[]
    : S extends { readonly [member: string]: Shape }
      ? { [K in keyof S]?: Texts<S[K]> }
      : never;

/**
 * Returns the texts of the values that the shape names, in one pass. The depth of an element counts from the element
 * itself. One that is too deep becomes a `TooDeep` at its position, so that it can be refused alone.
 * @throws TooDeep when a value outside of elements is too deep
 */
export function textsIn<const S extends Shape>(text: string, shape: S): Texts<S> | undefined {
  return readShape(new Cursor(text, 0), shape, 0) as Texts<S> | undefined;
}

/** Reads the value at the cursor by a shape, and moves the cursor to its end. */
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
