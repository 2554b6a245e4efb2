/** True for a JSON object, but not for a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const textOrNull = (value: unknown): string | null =>
  typeof value === 'string' ? value : null;
