import type { JsonIndex } from './json-index.ts';

/** Splits `choices[0].message` into steps. A name with dots is written in brackets, or with `\.`. */
const pathSteps = (path: string): string[] =>
  [...path.matchAll(/\[([^\]]*)\]|(?:\\[.\\[]|[^.[])+/g)].map(
    ([whole, inside]) => inside ?? whole.replaceAll(/\\([.\\[])/g, '$1'),
  );

/** The node at a path, by the rules of the service; undefined when the path leads nowhere. */
export function nodeAt(index: JsonIndex, root: number, path: string): number | undefined {
  let node: number | undefined = root;
  for (const step of pathSteps(path)) {
    if (node === undefined) return undefined;
    node = index.kind(node) === 'array' ? itemAt(index, node, step) : memberAt(index, node, step);
  }
  return node;
}

const memberAt = (index: JsonIndex, node: number, name: string) =>
  index.kind(node) === 'object' ? index.member(node, name) : undefined;

function itemAt(index: JsonIndex, array: number, step: string): number | undefined {
  if (!/^\d{1,9}$/.test(step)) return undefined;
  let left = Number(step);
  for (const item of index.children(array)) if (left-- === 0) return item;
  return undefined;
}

/** Names that need no brackets in a path. */
const IS_PLAIN = /^[^.[\]"\\]+$/;

/** Lists the paths below a member of a call, parents first, down to `MOST_DEPTH`. */
export function pathsBelow(index: JsonIndex, call: number, name: string, most: number): string[] {
  const root = index.member(call, name);
  if (root === undefined) return [];
  const paths: string[] = [];
  const walk = (node: number, path: string, depth: number) => {
    if (paths.length >= most) return;
    paths.push(path);
    if (depth === 0) return;
    if (index.kind(node) === 'array') {
      const first = itemAt(index, node, '0');
      if (first !== undefined) walk(first, `${path}[0]`, depth - 1);
    } else
      for (const child of index.children(node)) {
        const key = index.nodeKey(child)!.slice(1, -1);
        if (IS_PLAIN.test(key)) walk(child, `${path}.${key}`, depth - 1);
      }
  };
  walk(root, name, MOST_DEPTH);
  return paths;
}

const MOST_DEPTH = 5;
