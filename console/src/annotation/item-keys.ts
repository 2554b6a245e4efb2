export interface ItemActions {
  save: () => unknown;
  skip: () => unknown;
  back: () => unknown;
  forward: () => unknown;
  /** Focuses the text box. */
  text: () => unknown;
  /** Leaves the text box. */
  leave: () => unknown;
  question: (by: number) => unknown;
  /** Scrolls the fields by pages. */
  scroll: (by: number) => unknown;
  /** Chooses an answer. Returns false when the key belongs to no choice. */
  choose: (key: string) => boolean;
}

/** Elements that the arrow keys scroll when they have the focus. */
const SCROLLED = '[role="region"], [role="group"][tabindex], section[tabindex]';

/** Runs the action of a key and returns whether the key had one. In a box only Escape and Enter have one. */
export function itemAction(event: KeyboardEvent, actions: ItemActions): boolean {
  const { target, key } = event;
  const isOther = event.metaKey || event.ctrlKey || event.altKey || event.isComposing;
  // a held key skips one item, not all
  if (event.repeat && !/^(Arrow|Page)/.test(key)) return false;
  if (isOther || document.querySelector('[role="dialog"]')) return false;
  const at = target instanceof Element ? target : document.body;
  if (at.matches('input, textarea, select')) return keyInBox(event, actions);
  return !isKept(at, key) && act(key, actions);
}

/** Keys that the focused element needs itself: Enter on a button or link, arrows on an element that scrolls. */
const isKept = (at: Element, key: string): boolean =>
  key === 'Enter'
    ? at.closest('a, button:not([data-choice])') !== null
    : (key === 'ArrowUp' || key === 'ArrowDown') && at.matches(SCROLLED);

function act(key: string, actions: ItemActions): boolean {
  const moves: Record<string, () => unknown> = {
    Enter: actions.save,
    s: actions.skip,
    t: actions.text,
    ArrowLeft: actions.back,
    ArrowRight: actions.forward,
    ArrowDown: () => actions.question(1),
    ArrowUp: () => actions.question(-1),
    PageDown: () => actions.scroll(1),
    PageUp: () => actions.scroll(-1),
  };
  const move = Object.hasOwn(moves, key) ? moves[key] : undefined;
  if (!move) return actions.choose(key);
  move();
  return true;
}

function keyInBox({ key, shiftKey }: KeyboardEvent, { save, leave }: ItemActions): boolean {
  if (key === 'Escape') leave();
  else if (key === 'Enter' && !shiftKey) save();
  else return false;
  return true;
}
