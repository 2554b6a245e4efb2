import { readFileSync, statSync } from 'node:fs';

/** A setting with a value that the service cannot start with; the message names the variable. */
export class InvalidSetting extends Error {}

/** Returns the value of a variable. Undefined when it is absent or empty. */
export type SettingReader = (name: string) => string | undefined;

const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Returns the value of a variable, or the content of the file that `<name>_FILE` names, because secrets are mounted as
 * files. An empty variable counts as absent.
 */
export function settingValue(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const [value, file] = [env[name], env[`${name}_FILE`]];
  if (!file) return value || undefined;
  if (value) throw new InvalidSetting(`${name} and ${name}_FILE are both set: remove one`);
  try {
    if (statSync(file).size > MAX_FILE_BYTES) throw new Error(`more than ${MAX_FILE_BYTES} bytes`);
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new InvalidSetting(`${name}_FILE: ${file} cannot be read (${code ?? message})`);
  }
}

export function integer(
  setting: SettingReader,
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

/** Returns the setting if it is one of the values. The first value is the default. */
export function oneOf<const T extends string>(
  setting: SettingReader,
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

/** Reads a JSON list. Messages never contain the value, because it may hold a secret by mistake. */
export function jsonList(setting: SettingReader, name: string): unknown[] {
  let list: unknown;
  try {
    list = JSON.parse(setting(name) ?? '[]');
  } catch {
    throw new InvalidSetting(`${name} must be a JSON list, and is not JSON`);
  }
  if (!Array.isArray(list)) throw new InvalidSetting(`${name} must be a JSON list`);
  return list;
}
