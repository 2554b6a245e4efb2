/** A part of a line. Addresses are shown as text, never as links. */
export interface Inline {
  kind: 'text' | 'strong' | 'emphasis' | 'code' | 'link' | 'image';
  text: string;
  /** The address of a link or an image. */
  address?: string;
}

export type Block =
  | { kind: 'paragraph' | 'heading' | 'quote'; inlines: Inline[] }
  | { kind: 'list'; isNumbered: boolean; items: Inline[][] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'code'; text: string };

/** Longer texts are shown as plain text. */
const MOST_CHARACTERS = 100_000;

const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^#{1,6}\s+(.*)$/;
const QUOTE = /^>\s?(.*)$/;
const ITEM = /^\s{0,8}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
/**
 * Every part has a length limit. Without one, an unclosed mark would be searched to the end of the text from each
 * character.
 */
const INLINE =
  /`([^`\n]{1,300})`|\*\*([^*\n]{1,300})\*\*|(?<![\w*])\*([^*\s][^*\n]{0,300})\*(?![\w*])|(!?)\[([^\]\n]{0,300})\]\(([^()\s]{1,300})\)/g;

/** Parses the common part of Markdown, without its HTML. Undefined for a text that uses none of it. */
export function markdown(text: string): Block[] | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  const blocks = blocksOf(text.split('\n'));
  const isPlain = (block: Block) =>
    block.kind === 'paragraph' && block.inlines.every(({ kind }) => kind === 'text');
  return blocks.every(isPlain) ? undefined : blocks;
}

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  for (let n = 0; n < lines.length;) {
    const [block, next] = blockAt(lines, n);
    if (block) blocks.push(block);
    n = next;
  }
  return blocks;
}

function blockAt(lines: readonly string[], from: number): [Block | undefined, number] {
  const line = lines[from]!;
  if (line.trim() === '') return [undefined, from + 1];
  if (FENCE.test(line)) {
    let to = from + 1;
    while (to < lines.length && !FENCE.test(lines[to]!)) to++;
    return [{ kind: 'code', text: lines.slice(from + 1, to).join('\n') }, to + 1];
  }
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: 'heading', inlines: inlinesOf(heading[1]!) }, from + 1];
  if (isTableAt(lines, from)) return tableAt(lines, from);
  const list = ITEM.exec(line);
  const isOf = (pattern: RegExp) => {
    let to = from;
    while (to < lines.length && pattern.test(lines[to]!)) to++;
    return to;
  };
  if (list) {
    const to = isOf(ITEM);
    const items = lines.slice(from, to).map((one) => inlinesOf(ITEM.exec(one)![2]!));
    return [{ kind: 'list', isNumbered: list[1] !== undefined, items }, to];
  }
  if (QUOTE.test(line)) {
    const to = isOf(QUOTE);
    const said = lines.slice(from, to).map((one) => QUOTE.exec(one)![1]!);
    return [{ kind: 'quote', inlines: inlinesOf(said.join('\n')) }, to];
  }
  let to = from + 1;
  while (to < lines.length && !BEGINS.test(lines[to]!) && !isTableAt(lines, to)) to++;
  return [{ kind: 'paragraph', inlines: inlinesOf(lines.slice(from, to).join('\n')) }, to];
}

/** Wider tables are shown as plain text. */
const MOST_COLUMNS = 60;
const RULE = /^:?-+:?$/;

/** True for a line of cells above a line of as many rules. */
function isTableAt(lines: readonly string[], at: number): boolean {
  const rules = lines[at + 1];
  if (!rules?.includes('-') || !lines[at]!.includes('|')) return false;
  const cells = cellsOf(rules);
  return (
    cells.length <= MOST_COLUMNS &&
    cells.every((cell) => RULE.test(cell)) &&
    cells.length === cellsOf(lines[at]!).length
  );
}

function tableAt(lines: readonly string[], from: number): [Block, number] {
  const head = cellsOf(lines[from]!).map(inlinesOf);
  const rows: Inline[][][] = [];
  let to = from + 2;
  for (; to < lines.length && lines[to]!.includes('|'); to++) {
    // a row has no more cells than are written: the size of the text limits the work
    rows.push(cellsOf(lines[to]!).slice(0, head.length).map(inlinesOf));
  }
  return [{ kind: 'table', head, rows }, to];
}

/** Splits a line into cells. Bars at the ends of the line are no cells; `\|` is a bar inside a cell. */
function cellsOf(line: string): string[] {
  const cells = line.trim().split(/(?<!\\)\|/);
  if (cells[0] === '') cells.shift();
  if (cells.at(-1) === '') cells.pop();
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** Lines that end a paragraph. */
const BEGINS = /^\s*$|^\s*(?:```|~~~)|^#{1,6}\s|^>|^\s{0,8}(?:[-*+]|\d{1,9}[.)])\s/;

function inlinesOf(text: string): Inline[] {
  const found: Inline[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) found.push({ kind: 'text', text: text.slice(at, match.index) });
    found.push(inlineOf(match));
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ kind: 'text', text: text.slice(at) });
  return found;
}

function inlineOf([, code, strong, emphasis, bang, label, address]: RegExpExecArray): Inline {
  if (code !== undefined) return { kind: 'code', text: code };
  if (strong !== undefined) return { kind: 'strong', text: strong };
  if (emphasis !== undefined) return { kind: 'emphasis', text: emphasis };
  return { kind: bang ? 'image' : 'link', text: label!, address: address! };
}
