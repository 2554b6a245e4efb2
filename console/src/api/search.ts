/** A text in an address: one that looks like a number or a word of JSON has been read as such. */
export const textIn = (value: unknown): string | undefined =>
  (typeof value === 'string' && value !== '') ||
  typeof value === 'number' ||
  typeof value === 'boolean'
    ? String(value)
    : undefined;

const isTime = (value: unknown): value is string =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value));

/** A window that an address gives, where it is one. */
export const windowIn = ({ from, to }: Record<string, unknown>): { from?: string; to?: string } =>
  isTime(from) && isTime(to) && Date.parse(from) < Date.parse(to) ? { from, to } : {};

/**
 * Reads an address by a page's own rules. The router would hand on what they leave out, and a page that asks for a range would get
 * one that there is not.
 */
export const onlyKnown =
  <Search extends object>(read: (search: Record<string, unknown>) => Search) =>
  (search: Record<string, unknown>): Search => {
    const known = read(search);
    const unknown = Object.keys(search).filter((name) => !Object.hasOwn(known, name));
    return { ...Object.fromEntries(unknown.map((name) => [name, undefined])), ...known };
  };
