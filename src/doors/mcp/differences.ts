import { elementTexts, memberTexts } from '../../platform/json/json-text.js';
import { CALL_PARTS } from './mcp.dto.js';
import { type ToolAnswer, textBeginning, type AnswerBudget, jsonExcerpt } from './tool-answer.js';

/** Each level reads the text once more. Values below this level are compared as a whole. */
const MAX_LEVELS = 8;
const PATH_LENGTH = 300;
/** Maximum size of each of the two values. */
const VALUE_BYTES = 600;

/** Two JSON texts at one path; null where a side has no value. */
interface Pair {
  path: string;
  left: string | null;
  right: string | null;
  level: number;
}

/** Lists the differences between the texts of two calls until the budget is used up. Takes linear time. */
export function differences(left: string, right: string, budget: AnswerBudget): ToolAnswer {
  const [of, other] = [memberTexts(left), memberTexts(right)];
  const open = CALL_PARTS.map((path): Pair => ({ path, ...pairAt(of, other, path), level: 0 }));
  open.reverse();
  const found: string[] = [];
  let same = 0;
  for (let pair = open.pop(); pair; pair = open.pop()) {
    if (pair.left === pair.right) same++;
    else {
      const inner = innerPairs(pair);
      if (inner) for (const one of inner.toReversed()) open.push(one);
      else {
        const row = differenceRow(pair);
        if (!budget.takes(row)) return differencesAnswer(found, same, true);
        found.push(row);
      }
    }
  }
  return differencesAnswer(found, same, false);
}

const differencesAnswer = (found: readonly string[], same: number, isCut: boolean): ToolAnswer => ({
  words: `${found.length} values differ, ${same} are the same text.${isCut ? ' There are more differences: ask with more max_tokens, or read the calls.' : ''}`,
  recorded: `{"differences":[${found.join(',')}]}`,
});

const pairAt = <Key>(
  left: ReadonlyMap<Key, string>,
  right: ReadonlyMap<Key, string>,
  key: Key,
) => ({
  left: left.get(key) ?? null,
  right: right.get(key) ?? null,
});

/**
 * Returns the pairs of members or elements of two containers of one kind; null when the values themselves must be
 * compared.
 */
function innerPairs({ path, left, right, level }: Pair): Pair[] | null {
  if (left === null || right === null || level === MAX_LEVELS) return null;
  const kind = left[0];
  if (kind !== right[0] || (kind !== '{' && kind !== '[')) return null;
  const read = kind === '{' ? memberTexts : elements;
  const [of, other] = [read(left), read(right)];
  const keys = new Set([...of.keys(), ...other.keys()]);
  return Array.from(keys, (key) => ({
    path: kind === '{' ? `${path}.${key}` : `${path}[${key}]`,
    ...pairAt(of, other, key),
    level: level + 1,
  }));
}

const elements = (text: string): Map<string, string> =>
  new Map(elementTexts(text).map((element, i) => [String(i), element]));

function differenceRow({ path, left, right }: Pair): string {
  const values = [
    ...(left === null ? [] : [`"left":${jsonExcerpt(left, VALUE_BYTES)}`]),
    ...(right === null ? [] : [`"right":${jsonExcerpt(right, VALUE_BYTES)}`]),
  ];
  return `{"path":${textBeginning(path, PATH_LENGTH)},${values.join(',')}}`;
}
