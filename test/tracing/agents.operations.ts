import { agentSpan, aTurn, exportOf, traceId } from '../support/agents.js';
import { type Operation, reads, withBody } from '../support/operation-rows.js';
import type { Planted } from '../support/planted.js';

/** Records a turn of a conversation with the marker in every member that may contain it. */
const recordTurn: NonNullable<Operation['plant']> = async ({ project, marker }, app) =>
  app.post(
    '/agents/otel/v1/traces',
    exportOf(
      aTurn({
        trace: 0xa9e,
        id: 0xa9e0,
        conversation: marker,
        agent: marker,
        version: marker,
        answer: marker,
        attributes: { [marker]: 'x' },
      }).map(agentSpan),
    ),
    { headers: { project_id: project } },
  );
const ofAgents = (build: (planted: Planted) => object = () => ({})) => ({
  ...reads(withBody(build)),
  plant: recordTurn,
});

export const agentsOperations: Record<string, Operation> = {
  'POST /agents/query': ofAgents(),
  'POST /agents/agent-versions/query': ofAgents(({ marker }) => ({ agent_name: marker })),
  'POST /agents/spans/query': ofAgents(),
  'POST /agents/spans/stats': ofAgents(() => ({
    ...{ start: '2026-01-01T00:00:00Z', end: '2026-01-02T00:00:00Z' },
    group_by: [{ key: 'conversation_id' }],
  })),
  'POST /agents/spans/custom-attrs/schema': ofAgents(),
  'POST /agents/traces/chat': ofAgents(() => ({ trace_id: traceId(0xa9e) })),
  'POST /agents/conversations/chat': ofAgents(({ marker }) => ({ conversation_id: marker })),
  'POST /agents/conversations/spans': ofAgents(({ marker }) => ({ conversation_ids: [marker] })),
  'POST /agents/search': ofAgents(),
};
