import { useState } from 'react';

/** Returns the value, or the last defined one while it is undefined. */
export function useLastKnown<T>(value: T | undefined): T | undefined {
  const [known, know] = useState(value);
  if (value !== undefined && value !== known) know(value);
  return value ?? known;
}
