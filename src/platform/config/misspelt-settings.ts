import { loadConfig } from './config.js';

/** A variable that looks like a setting, and the unset setting that it resembles. */
export interface MisspeltSetting {
  name: string;
  meant: string;
}

/** Shorter names are too similar to those of other programs. */
const LEAST_LENGTH = 6;
const MOST_EDITS = 2;

/**
 * Returns variables of an environment that the service does not read, but that differ in one or two letters from one it
 * reads.
 */
export function misspeltSettings(env: NodeJS.ProcessEnv): MisspeltSetting[] {
  const asked = new Set<string>();
  const noted = new Proxy(env, {
    get: (_, name) => {
      asked.add(String(name));
      return env[String(name)];
    },
  });
  loadConfig(noted);
  const absent = [...asked].filter((name) => !env[name] && name.length >= LEAST_LENGTH);
  return Object.keys(env).flatMap((name) => {
    if (asked.has(name)) return [];
    const meant = absent.find((other) => editDistance(name.toUpperCase(), other) <= MOST_EDITS);
    return meant === undefined ? [] : [{ name, meant }];
  });
}

/**
 * Returns the number of letters inserted, removed or replaced between two texts. Infinity when the lengths differ too
 * much.
 */
function editDistance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > MOST_EDITS) return Infinity;
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let k = 1; k <= other.length; k++)
      next.push(
        Math.min(row[k]! + 1, next[k - 1]! + 1, row[k - 1]! + Number(one[i - 1] !== other[k - 1])),
      );
    row = next;
  }
  return row.at(-1)!;
}
