import { fits, isStorable } from '../../../platform/http/dto.js';
import { isObject } from '../../../platform/json/json-object.js';
import { isEmptyId } from '../../conventions/empty-id.js';
import { MAX_NAME } from '../calls.dto.js';

export const MAX_EXCEPTION = 1024 * 1024;
/** Characters kept free for the note at the end of a cut exception. */
const MARK_LENGTH = 64;

/** Texts of at most `MAX_NAME` characters. */
const NAMES = ['op_name', 'display_name', 'svc_run_id'];
const REPAIRED = [...NAMES, 'exception'];

/**
 * Repairs texts of a batch item in place. If the item were refused, the call would be lost, because clients drop
 * refused items. A character that PostgreSQL cannot store becomes U+FFFD. A name that is too long is cut and ends with
 * an ellipsis.
 */
export function repairTexts(item: unknown): void {
  if (!isObject(item)) return;
  repairParent(item);
  for (const name of REPAIRED) {
    const text = Object.hasOwn(item, name) ? item[name] : undefined;
    if (typeof text !== 'string') continue;
    const isHeld: boolean = isStorable(text);
    const held = isHeld ? text : text.replace(/[\0\p{Cs}]/gu, '\ufffd');
    if (name !== 'exception' && !fits(held, MAX_NAME)) item[name] = cutName(held);
    else if (!isHeld) item[name] = held;
  }
}

const cutName = (name: string) =>
  `${Array.from(name.slice(0, 2 * MAX_NAME))
    .slice(0, MAX_NAME - 1)
    .join('')}…`;

export function repairParent(item: unknown): void {
  if (!isObject(item) || !Object.hasOwn(item, 'parent_id')) return;
  const { parent_id: id } = item;
  if (typeof id === 'string' && isEmptyId(id)) item['parent_id'] = null;
}

/** Returns an exception as it is stored. One over the limit is cut, with a note of how many bytes were kept. */
export function cutException(text: string): string {
  if (fits(text, MAX_EXCEPTION)) return text;
  // half of a surrogate pair at the end is not kept
  const kept = text.slice(0, MAX_EXCEPTION - MARK_LENGTH).replace(/[\ud800-\udbff]$/, '');
  const bytes = (of: string) => Buffer.byteLength(of).toLocaleString('en-US');
  return `${kept}… [cut by Skein: ${bytes(kept)} of ${bytes(text)} bytes]`;
}
