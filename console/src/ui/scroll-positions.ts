/** Scroll positions of this tab's lists, keyed by history entry and list. Going back restores them. */
const places = new Map<string, number>();
const MAX_POSITIONS = 200;

const placeKey = (label: string): string => {
  const { __TSR_key: entry = '' } = (history.state ?? {}) as { __TSR_key?: string };
  return `${entry} ${label}`;
};

/** The scroll position of a list in the current history entry, in pixels. */
export const scrollPosition = (label: string): number => places.get(placeKey(label)) ?? 0;

/**
 * Returns a function that stores the position for the entry that is current now. When the list is removed, another
 * entry may be current.
 */
export function scrollKeeper(label: string): (top: number) => void {
  const key = placeKey(label);
  return (top) => {
    places.delete(key);
    places.set(key, top);
    if (places.size > MAX_POSITIONS) places.delete(places.keys().next().value!);
  };
}

const times = new Map<string, number>();

/**
 * The time at which the current history entry was first shown. Going back shows the same rows, with newer ones above.
 */
export function historyNow(): number {
  const key = placeKey('now');
  const kept = times.get(key) ?? Date.now();
  if (times.size >= MAX_POSITIONS) times.delete(times.keys().next().value!);
  times.set(key, kept);
  return kept;
}
