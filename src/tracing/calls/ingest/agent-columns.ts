import { fits, isId, isStorable } from '../../../platform/http/dto.js';
import type { AgentColumns } from './calls.upsert.js';

/** An index has the name beside the project and the id: 2,704 bytes at most. */
const MAX_NAME = 256;

/** A span of which nothing is known but that it came from an agent. */
export const PLAIN_SPAN: AgentColumns = {
  operation: '',
  agent_name: null,
  agent_version: null,
  linked_call_id: null,
};

/**
 * Names of other conventions for the operations of OpenTelemetry. Values are compared in lower case: OpenInference writes `LLM`,
 * MLflow 3.4 (`mlflow.entities.SpanType`) `CHAT_MODEL`, and people write both.
 */
const OPERATIONS = Object.entries<Readonly<Record<string, string>>>({
  'openinference.span.kind': {
    llm: 'chat',
    agent: 'invoke_agent',
    tool: 'execute_tool',
    retriever: 'retrieval',
    embedding: 'embeddings',
  },
  'traceloop.span.kind': { agent: 'invoke_agent', tool: 'execute_tool' },
  'mlflow.spanType': {
    llm: 'chat',
    chat_model: 'chat',
    agent: 'invoke_agent',
    tool: 'execute_tool',
    retriever: 'retrieval',
    embedding: 'embeddings',
  },
  'langfuse.observation.type': {
    generation: 'chat',
    agent: 'invoke_agent',
    tool: 'execute_tool',
    retriever: 'retrieval',
    embedding: 'embeddings',
  },
  'ai.operationId': {
    'ai.generatetext': 'invoke_agent',
    'ai.streamtext': 'invoke_agent',
    'ai.generatetext.dogenerate': 'chat',
    'ai.streamtext.dostream': 'chat',
    'ai.generateobject.dogenerate': 'chat',
    'ai.streamobject.dostream': 'chat',
    'ai.toolcall': 'execute_tool',
    'ai.embed.doembed': 'embeddings',
    'ai.embedmany.doembed': 'embeddings',
  },
}).map(([name, operations]) => [name, new Map(Object.entries(operations))] as const);

/** The value of an attribute by its name. */
type ReadAttribute = (name: string) => unknown;

/** Null of a span that says nothing of agents or models. The keys of weave win over those of OpenTelemetry. */
export function agentOf(attribute: ReadAttribute): AgentColumns | null {
  const named = (key: string) =>
    text(attribute(`weave.${key}`)) ?? text(attribute(`gen_ai.${key}`));
  const operation = named('operation.name') ?? otherOperation(attribute);
  const agent_name = named('agent.name');
  const linked_call_id = attribute('weave.parent_call.id');
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

function otherOperation(attribute: ReadAttribute): string | null {
  for (const [name, operations] of OPERATIONS) {
    const value = attribute(name);
    const operation = typeof value === 'string' ? operations.get(value.toLowerCase()) : undefined;
    if (operation) return operation;
  }
  return null;
}
