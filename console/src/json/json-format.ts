import type { JsonIndex } from './json-index.ts';

/** A container of scalars of at most this length is written on one line. */
const ONE_LINE = 72;
/** Deeper values are not indented further: the text would grow with the square of the depth. */
const MOST_INDENT = 40;

/** Formats a value with new line breaks and indents. Every name and every scalar stays as it was written. */
export function formatJson(index: JsonIndex, root = 0): string {
  const { behind } = index.nodes;
  const pieces: string[] = [];
  const open: number[] = [];
  const indent = () => `\n${'  '.repeat(Math.min(open.length, MOST_INDENT))}`;
  for (let node = root; node < behind[root]!;) {
    const parent = open.at(-1);
    if (parent !== undefined) pieces.push(node === parent + 1 ? '' : ',', indent());
    if (node !== root) pieces.push(nameBefore(index, node));
    const line = oneLine(index, node);
    if (line === undefined) {
      pieces.push(index.kind(node) === 'array' ? '[' : '{');
      open.push(node++);
      continue;
    }
    pieces.push(line);
    node = behind[node]!;
    while (open.length > 0 && behind[open.at(-1)!] === node) {
      const ended = open.pop()!;
      pieces.push(indent(), index.kind(ended) === 'array' ? ']' : '}');
    }
  }
  return pieces.join('');
}

const nameBefore = (index: JsonIndex, node: number): string => {
  const name = index.nodeKey(node);
  return name === undefined ? '' : `${name}: `;
};

/** The value on one line; undefined when it needs several. */
function oneLine(index: JsonIndex, node: number): string | undefined {
  if (!index.hasChildren(node)) return withoutChildren(index, node);
  let inside = '';
  for (const child of index.children(node)) {
    if (index.hasChildren(child)) return undefined;
    inside += `${inside && ', '}${nameBefore(index, child)}${withoutChildren(index, child)}`;
    if (inside.length > ONE_LINE) return undefined;
  }
  return index.kind(node) === 'array' ? `[${inside}]` : `{ ${inside} }`;
}

function withoutChildren(index: JsonIndex, node: number): string {
  const kind = index.kind(node);
  if (kind === 'array') return '[]';
  return kind === 'object' ? '{}' : index.nodeText(node);
}
