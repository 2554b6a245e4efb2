import { useState } from 'react';

/** The value, or while there is none the last one that there was. */
export function useLastKnown<T>(value: T | undefined): T | undefined {
  const [known, know] = useState(value);
  if (value !== undefined && value !== known) know(value);
  return value ?? known;
}
