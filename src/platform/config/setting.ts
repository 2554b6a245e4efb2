/** A setting with a value that the service cannot start with; the message names the variable. */
export class InvalidSetting extends Error {}

/** The value of a variable; undefined where it is absent or empty. */
export type Setting = (name: string) => string | undefined;

export function integer(
  setting: Setting,
  name: string,
  fallback: number,
  [min, max]: [number, number],
): number {
  const text = setting(name) ?? String(fallback);
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new InvalidSetting(`${name} must be a whole number from ${min} to ${max}, got "${text}"`);
  return value;
}

/** The first value is the default. */
export function oneOf<const T extends string>(
  setting: Setting,
  name: string,
  values: readonly T[],
): T {
  const text = setting(name) ?? values[0]!;
  const value = values.find((candidate) => candidate === text);
  if (!value)
    throw new InvalidSetting(
      `${name} must be one of ${[...new Set(values)].join(', ')}, got "${text}"`,
    );
  return value;
}
