import { useState } from 'react';

/** The value stored in this browser under a name; undefined when none can be read. */
export function readSetting(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(`skein.${name}`) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** Undefined removes the value. */
export function storeSetting(name: string, value: unknown): void {
  if (value === undefined) localStorage.removeItem(`skein.${name}`);
  else localStorage.setItem(`skein.${name}`, JSON.stringify(value));
}

/** A value stored in this browser. `read` validates the stored one. */
export function useSetting<T>(name: string, read: (kept: unknown) => T) {
  const [value, set] = useState(() => read(readSetting(name)));
  const choose = (next: T) => {
    set(next);
    storeSetting(name, next);
  };
  return [value, choose] as const;
}
