import { storable } from '../../platform/query/columns.js';

/** The classes by which a version is filtered. They are read from its value when it is published. */
export interface ObjectClass {
  kind: 'op' | 'object';
  /** The class of the value; null when the value does not name it. */
  leaf: string | null;
  /**
   * The class directly below the base model that the leaf derives from. It is the leaf itself if it derives directly.
   */
  base: string | null;
}

export function objectClass(val: unknown): ObjectClass {
  const { _type, weave_type, _bases, _class_name } = members(val);
  const isOp = typeof _type === 'string' && members(weave_type)['type'] === 'Op';
  const leaf = isObjectBases(_bases) ? text(_class_name) : null;
  const base = isObjectBases(_bases) && _bases.length > 2 ? text(_bases.at(-3)) : leaf;
  return { kind: isOp ? 'op' : 'object', leaf, base };
}

/** Returns true when the list of base classes ends like that of every object of an SDK. */
const isObjectBases = (bases: unknown): bases is unknown[] =>
  Array.isArray(bases) &&
  bases.at(-1) === 'BaseModel' &&
  (bases.at(-2) === 'Object' || bases.at(-2) === 'BaseObject');

const members = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** A value may contain characters that a text column cannot store. */
const text = (value: unknown): string | null =>
  typeof value === 'string' ? storable(value) : null;
