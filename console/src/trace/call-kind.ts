import { type CallKind, kindOf } from '../ui/KindIcon.tsx';
import type { Tree } from './tree.ts';
import type { TraceSpan } from './useTrace.ts';

/** The kind of the call at a position of the tree; undefined when it is unknown. */
export function callKind({ spans, behind }: Tree<TraceSpan>, number: number): CallKind | undefined {
  const { operation, tokens } = spans[number]!;
  return kindOf(operation, tokens !== null && number + 1 === behind[number]);
}
