import { createHash } from 'node:crypto';

/** Characters of the readable part of an id that is made from a name. */
const READABLE = 80;

/**
 * Returns the id of the object that holds a prompt. It is the name itself where that is an id of objects. Any other
 * name has a readable part and the start of its SHA-256.
 */
export function promptObjectId(name: string): string {
  if (/^[\w.-]{1,128}$/.test(name)) return name;
  const readable = name.replaceAll(/[^\w.-]+/g, '-').slice(0, READABLE);
  return `${readable}-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
}

/** Returns the alias of a label. Objects reserve `v1`, which may be a label of a prompt, so it is stored as `=v1`. */
export const aliasOf = (label: string): string => (/^v\d+$/.test(label) ? `=${label}` : label);

export const labelOf = (alias: string): string => (alias.startsWith('=') ? alias.slice(1) : alias);

export const labelsOf = (aliases: string[], isLatest: boolean): string[] => [
  ...(isLatest ? ['latest'] : []),
  ...aliases.map(labelOf).toSorted(),
];
