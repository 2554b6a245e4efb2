import { storable } from '../../platform/query/columns.js';

/** The classes a version is listed by, read from its value when it is published. */
export interface ObjectClass {
  kind: 'op' | 'object';
  /** Class of the value; null where it does not say so. */
  leaf: string | null;
  /** The class right below the base model, of which the leaf is a kind; the leaf itself when there is none between. */
  base: string | null;
}

/** Derives the class of a value from the members by which SDKs describe theirs. */
export function objectClass(val: unknown): ObjectClass {
  const { _type, weave_type, _bases, _class_name } = members(val);
  const isOp = typeof _type === 'string' && members(weave_type)['type'] === 'Op';
  const leaf = isObjectBases(_bases) ? text(_class_name) : null;
  const base = isObjectBases(_bases) && _bases.length > 2 ? text(_bases.at(-3)) : leaf;
  return { kind: isOp ? 'op' : 'object', leaf, base };
}

/** Whether the list of base classes ends as that of every object of an SDK does. */
const isObjectBases = (bases: unknown): bases is unknown[] =>
  Array.isArray(bases) &&
  bases.at(-1) === 'BaseModel' &&
  (bases.at(-2) === 'Object' || bases.at(-2) === 'BaseObject');

const members = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** A value may hold what a text column cannot. */
const text = (value: unknown): string | null =>
  typeof value === 'string' ? storable(value) : null;
