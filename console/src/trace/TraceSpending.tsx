import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { callCost, callTokens } from '../api/calls.ts';
import { allLines } from '../api/client.ts';
import { count, money } from '../ui/format.ts';
import type { Tree } from './tree.ts';
import type { TraceSpan } from './useTrace.ts';

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
  const { data: root } = useQuery({
    queryKey: ['spent in a trace', project, traceId, told],
    queryFn: async ({ signal }) => {
      const request = {
        project_id: project,
        filter: { trace_ids: [traceId], trace_roots_only: true },
        columns: ['summary'],
        include_costs: true,
        include_trace_totals: true,
        limit: 1,
      };
      return (await allLines('/calls/stream_query', request, signal))[0] ?? null;
    },
    enabled: told > 0,
    placeholderData: (before) => before,
    gcTime: 0,
  });
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
