import { type CallKind, kindOf } from '../ui/KindIcon.tsx';
import type { Tree } from './tree.ts';
import type { TraceSpan } from './queries.ts';

export function callKind({ spans, behind }: Tree<TraceSpan>, number: number): CallKind | undefined {
  const { operation, tokens } = spans[number]!;
  return kindOf(operation, tokens !== null && number + 1 === behind[number]);
}
