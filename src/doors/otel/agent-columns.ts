import type { AgentColumns } from '../../tracing/calls/calls.service.js';
import { fits, isId, isStorable } from '../../platform/http/dto.js';
import type { Attributes } from './attributes.js';

/** An index has the name beside the project and the id: 2,704 bytes at most. */
const MAX_NAME = 256;

/** A span of which nothing is known but that it came from an agent. */
export const PLAIN_SPAN: AgentColumns = {
  operation: '',
  agent_name: null,
  agent_version: null,
  linked_call_id: null,
};

/** What other conventions call the operations of OpenTelemetry. */
const OPERATIONS = Object.entries<Readonly<Record<string, string>>>({
  'openinference.span.kind': {
    LLM: 'chat',
    AGENT: 'invoke_agent',
    TOOL: 'execute_tool',
    RETRIEVER: 'retrieval',
    EMBEDDING: 'embeddings',
  },
  'traceloop.span.kind': { agent: 'invoke_agent', tool: 'execute_tool' },
  'langfuse.observation.type': {
    generation: 'chat',
    agent: 'invoke_agent',
    tool: 'execute_tool',
    retriever: 'retrieval',
    embedding: 'embeddings',
  },
  'ai.operationId': {
    'ai.generateText': 'invoke_agent',
    'ai.streamText': 'invoke_agent',
    'ai.generateText.doGenerate': 'chat',
    'ai.streamText.doStream': 'chat',
    'ai.generateObject.doGenerate': 'chat',
    'ai.streamObject.doStream': 'chat',
    'ai.toolCall': 'execute_tool',
    'ai.embed.doEmbed': 'embeddings',
    'ai.embedMany.doEmbed': 'embeddings',
  },
});

/** Null of a span that says nothing of agents or models. The keys of weave win over those of OpenTelemetry. */
export function agentOf(own: Attributes): AgentColumns | null {
  const named = (key: string) => text(own.get(`weave.${key}`)) ?? text(own.get(`gen_ai.${key}`));
  const operation = named('operation.name') ?? otherOperation(own);
  const agent_name = named('agent.name');
  const linked_call_id = own.get('weave.parent_call.id');
  const isLinked = isId(linked_call_id);
  if (operation === null && agent_name === null && !isLinked) return null;
  return {
    operation: operation ?? '',
    agent_name,
    agent_version: named('agent.version'),
    linked_call_id: isLinked ? linked_call_id : null,
  };
}

const text = (value: unknown): string | null =>
  isStorable(value) && value !== '' && fits(value, MAX_NAME) ? value : null;

function otherOperation(own: Attributes): string | null {
  for (const [attribute, operations] of OPERATIONS) {
    const value = own.get(attribute);
    if (typeof value === 'string' && Object.hasOwn(operations, value)) return operations[value]!;
  }
  return null;
}
