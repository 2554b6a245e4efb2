/** Where the lists of this tab stood, by the entry of the history that showed them: who goes back finds what was left. */
const places = new Map<string, number>();
const MAX_POSITIONS = 200;

const placeKey = (label: string): string => {
  const { __TSR_key: entry = '' } = (history.state ?? {}) as { __TSR_key?: string };
  return `${entry} ${label}`;
};

/** How far a list of the current entry was scrolled, in pixels. */
export const scrollPosition = (label: string): number => places.get(placeKey(label)) ?? 0;

/** Notes it for the entry that is current now, which may be another one when the list is taken away. */
export function scrollKeeper(label: string): (top: number) => void {
  const key = placeKey(label);
  return (top) => {
    places.delete(key);
    places.set(key, top);
    if (places.size > MAX_POSITIONS) places.delete(places.keys().next().value!);
  };
}

const times = new Map<string, number>();

/** The present as the current entry of the history saw it first: who goes back finds the rows of then, and what is newer above. */
export function historyNow(): number {
  const key = placeKey('now');
  const kept = times.get(key) ?? Date.now();
  if (times.size >= MAX_POSITIONS) times.delete(times.keys().next().value!);
  times.set(key, kept);
  return kept;
}
