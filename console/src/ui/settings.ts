import { useState } from 'react';

/** What was chosen last in this browser, under a name; undefined where nothing that can be read is kept. */
export function readSetting(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(`skein.${name}`) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** Undefined is nothing to keep. */
export function storeSetting(name: string, value: unknown): void {
  if (value === undefined) localStorage.removeItem(`skein.${name}`);
  else localStorage.setItem(`skein.${name}`, JSON.stringify(value));
}

/** A choice of this browser. `read` makes one of whatever is kept. */
export function useSetting<T>(name: string, read: (kept: unknown) => T) {
  const [value, set] = useState(() => read(readSetting(name)));
  const choose = (next: T) => {
    set(next);
    storeSetting(name, next);
  };
  return [value, choose] as const;
}
