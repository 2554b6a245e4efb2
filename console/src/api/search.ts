/** A text of an address. The router has parsed texts that look like a JSON number or word; this turns them back. */
export const textIn = (value: unknown): string | undefined =>
  (typeof value === 'string' && value !== '') ||
  typeof value === 'number' ||
  typeof value === 'boolean'
    ? String(value)
    : undefined;

const isTime = (value: unknown): value is string =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value));

/** The time window of an address; empty when the address has none that is valid. */
export const windowIn = ({ from, to }: Record<string, unknown>): { from?: string; to?: string } =>
  isTime(from) && isTime(to) && Date.parse(from) < Date.parse(to) ? { from, to } : {};

/**
 * Reads an address by the rules of a page. The router would keep parameters that the rules leave out, and a page could
 * then request a range that does not exist.
 */
export const onlyKnown =
  <Search extends object>(read: (search: Record<string, unknown>) => Search) =>
  (search: Record<string, unknown>): Search => {
    const known = read(search);
    const unknown = Object.keys(search).filter((name) => !Object.hasOwn(known, name));
    return { ...Object.fromEntries(unknown.map((name) => [name, undefined])), ...known };
  };
