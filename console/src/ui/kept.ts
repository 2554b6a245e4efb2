import { useState } from 'react';

/** What was chosen last in this browser, under a name; undefined where nothing that can be read is kept. */
export function kept(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(`skein.${name}`) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** Undefined is nothing to keep. */
export function keep(name: string, value: unknown): void {
  if (value === undefined) localStorage.removeItem(`skein.${name}`);
  else localStorage.setItem(`skein.${name}`, JSON.stringify(value));
}

/** A choice of this browser. `read` makes one of whatever is kept. */
export function useKept<T>(name: string, read: (kept: unknown) => T) {
  const [value, set] = useState(() => read(kept(name)));
  const choose = (next: T) => {
    set(next);
    keep(name, next);
  };
  return [value, choose] as const;
}
