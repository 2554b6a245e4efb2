/** What keys do on the page of an item. */
export interface ItemActions {
  save: () => unknown;
  skip: () => unknown;
  back: () => unknown;
  forward: () => unknown;
  /** To the box where one types. */
  text: () => unknown;
  /** Out of it. */
  leave: () => unknown;
  question: (by: number) => unknown;
  /** The fields, by pages. */
  scroll: (by: number) => unknown;
  /** Whether the key chooses something. */
  choose: (key: string) => boolean;
}

/** Where arrows scroll, when it has the focus. */
const SCROLLED = '[role="region"], [role="group"][tabindex], section[tabindex]';

/** Whether a key was one of the page's. In a box only those that leave it are; a button or a link keeps its Enter. */
export function itemAction(event: KeyboardEvent, actions: ItemActions): boolean {
  const { target, key } = event;
  const isOther = event.metaKey || event.ctrlKey || event.altKey || event.isComposing;
  // who holds a key skips one item, not all
  if (event.repeat && !/^(Arrow|Page)/.test(key)) return false;
  if (isOther || document.querySelector('[role="dialog"]')) return false;
  const at = target instanceof Element ? target : document.body;
  if (at.matches('input, textarea, select')) return keyInBox(event, actions);
  return !isKept(at, key) && act(key, actions);
}

/** A button and a link keep their Enter, what scrolls its arrows. */
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
