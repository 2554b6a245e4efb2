import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { callCost, callTokens } from '../api/calls.ts';
import { count, money } from '../ui/format.ts';
import type { Tree } from './tree.ts';
import { type TraceSpan, traceSpendingQuery } from './queries.ts';

/** Shows the tokens and costs of a trace, with each call counted once. Empty when the root is not stored. */
export function TraceSpending({
  project,
  traceId,
  tree,
}: {
  project: string;
  traceId: string;
  tree: Tree<TraceSpan>;
}) {
  const told = tree.spans.reduce((sum, { tokens }) => sum + (tokens === null ? 0 : 1), 0);
  const { data: root } = useQuery(traceSpendingQuery(project, traceId, told));
  const tokens = root && callTokens(root);
  if (!tokens) return null;
  return (
    <>
      <Fact name="Tokens">
        {count(tokens.input)} → {count(tokens.output)}
      </Fact>
      <Fact name="Cost">{money(callCost(root))}</Fact>
    </>
  );
}

export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
