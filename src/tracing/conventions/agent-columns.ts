import { fits, isId, isStorable } from '../../platform/http/dto.js';
import { isObject } from '../../platform/json/json-object.js';
import type { CallColumnWith } from '../calls/call.entity.js';

/** Maximum length of a name. An index entry holds the name, the project and the id, and has at most 2,704 bytes. */
const MAX_NAME = 256;

/** Columns that a span states about agents. */
export type AgentColumns = Record<CallColumnWith<{ group: 'agent' }>, string | null | undefined>;

/** Columns of a span from an agent, if nothing else is known of the span. */
export const PLAIN_SPAN: AgentColumns = {
  operation: '',
  agent_name: null,
  agent_version: null,
  linked_call_id: null,
};

type ReadAttribute = (name: string) => unknown;

interface SpanConvention {
  /** The attribute whose value states the operation of a span. */
  attribute: string;
  /** Operations of OpenTelemetry, keyed by the value of `attribute` in lower case: clients send `LLM` and `llm`. */
  operations: Readonly<Record<string, string>>;
  /**
   * Attributes that name the agent, keyed by operation, the most important first. `other` is for all other operations.
   */
  names?: Readonly<Record<string, readonly string[]>>;
  /** If no attribute names the agent, the name of the agent's span is used. */
  isNamedAfterAgent?: true;
  /** The name of the agent if no attribute names it. */
  agent?: string;
}

/** Nodes of LangGraph that are no agents: its internal nodes, and the tool node of its prebuilt agents. */
const IS_NO_AGENT = /^(__\w+__|tools)$/;
const GRAPH_NODES = [
  'graph.node.id',
  'graph.node.name',
  'metadata.langgraph_node',
  'langgraph_node',
];

/**
 * Attributes with which SDKs state the operation and the agent of a span. The first convention with a known value
 * counts.
 */
const CONVENTIONS: readonly SpanConvention[] = [
  // OpenInference, openinference-semantic-conventions 0.1.30. Its instrumentations also make spans of smolagents 1.2x,
  // CrewAI and AutoGen. openinference-instrumentation-langchain stores the node of LangGraph in the JSON of `metadata`.
  {
    attribute: 'openinference.span.kind',
    operations: {
      llm: 'chat',
      agent: 'invoke_agent',
      tool: 'execute_tool',
      retriever: 'retrieval',
      embedding: 'embeddings',
      reranker: 'reranker',
      guardrail: 'guardrail',
      evaluator: 'evaluator',
    },
    names: {
      invoke_agent: ['agent.name', ...GRAPH_NODES],
      chat: ['agent.name', ...GRAPH_NODES],
      other: ['agent.name'],
    },
    isNamedAfterAgent: true,
  },
  // OpenLLMetry, traceloop-sdk 0.50
  {
    attribute: 'traceloop.span.kind',
    operations: { agent: 'invoke_agent', tool: 'execute_tool' },
    names: { invoke_agent: ['traceloop.entity.name'] },
    isNamedAfterAgent: true,
  },
  // OpenLLMetry 0.50, which sets only this attribute on requests to models (opentelemetry-semantic-conventions-ai,
  // `LLMRequestTypeValues`)
  {
    attribute: 'llm.request.type',
    operations: {
      chat: 'chat',
      completion: 'text_completion',
      embedding: 'embeddings',
      rerank: 'reranker',
    },
  },
  // MLflow 3.4, `mlflow.entities.SpanType`. Values are JSON.
  {
    attribute: 'mlflow.spanType',
    operations: {
      llm: 'chat',
      chat_model: 'chat',
      agent: 'invoke_agent',
      tool: 'execute_tool',
      retriever: 'retrieval',
      embedding: 'embeddings',
      reranker: 'reranker',
      guardrail: 'guardrail',
      evaluator: 'evaluator',
    },
    isNamedAfterAgent: true,
  },
  // Langfuse: langfuse 3.9 to 5.0 (PyPI), @langfuse/core 5.11 (npm), and events of /api/public/ingestion. A plain span
  // has no operation.
  {
    attribute: 'langfuse.observation.type',
    operations: {
      generation: 'chat',
      agent: 'invoke_agent',
      tool: 'execute_tool',
      retriever: 'retrieval',
      embedding: 'embeddings',
      chain: 'chain',
      evaluator: 'evaluator',
      guardrail: 'guardrail',
      reranker: 'reranker',
      event: 'event',
    },
    isNamedAfterAgent: true,
  },
  // Vercel, ai 4 to 6; version 7 sets gen_ai.operation.name
  {
    attribute: 'ai.operationId',
    operations: {
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
    names: { invoke_agent: ['ai.telemetry.functionId'] },
  },
  // LangSmith 0.4; newer versions also set gen_ai.operation.name
  {
    attribute: 'langsmith.span.kind',
    operations: { llm: 'chat', tool: 'execute_tool', retriever: 'retrieval' },
    names: { chat: ['langsmith.metadata.langgraph_node'] },
  },
  // AG2 0.9, which also sets gen_ai.operation.name on most spans
  {
    attribute: 'ag2.span.type',
    operations: { agent: 'invoke_agent', tool: 'execute_tool', llm: 'chat' },
  },
  // Logfire 4, for the agents SDK of OpenAI
  {
    attribute: 'logfire.msg_template',
    operations: { 'agent run: {name!r}': 'invoke_agent', 'function: {name}': 'execute_tool' },
    names: { invoke_agent: ['name'] },
  },
  // Codex 0.171, codex-rs/core/src/tools
  { attribute: 'codex.tool.phase', operations: { dispatch: 'execute_tool' } },
  // Claude Code 2.1; newer versions also set gen_ai.operation.name
  {
    attribute: 'span.type',
    operations: { interaction: 'invoke_agent', llm_request: 'chat' },
    agent: 'claude-code',
  },
];

/** Operations to which values of `gen_ai.operation.name` are mapped. */
const OPERATION_ALIASES: ReadonlyMap<string, string> = new Map([
  ['invoke_workflow', 'invoke_agent'], // semantic conventions since v1.39; treated like invoke_agent
  ['llm_call', 'chat'], // Gemini CLI 0.61
  ['tool_call', 'execute_tool'],
  ['agent_call', 'invoke_agent'],
]);

/** Operations of OpenTelemetry. Some clients send them in capitals. */
const OPERATIONS: ReadonlySet<string> = new Set([
  'chat',
  'text_completion',
  'generate_content',
  'embeddings',
  'execute_tool',
  'invoke_agent',
  'create_agent',
  'retrieval',
]);

function operationNamed(own: string): string {
  const lower = own.toLowerCase();
  return OPERATION_ALIASES.get(lower) ?? (OPERATIONS.has(lower) ? lower : own);
}

const CONVENTION_INDEX = CONVENTIONS.map((convention) => ({
  ...convention,
  operations: new Map(Object.entries(convention.operations)),
}));

const INVOKE_AGENT = 'invoke_agent';

/**
 * Returns the columns of a span, or null if its attributes name no agent and no operation. The keys of weave win over
 * those of OpenTelemetry, and both win over other conventions. `spanName` is the name of the span, or of the op.
 */
export function agentOf(attribute: ReadAttribute, spanName?: string): AgentColumns | null {
  const named = (key: string) =>
    text(attribute(`weave.${key}`)) ?? text(attribute(`gen_ai.${key}`));
  const own = named('operation.name');
  const found = conventionOf(attribute);
  const operation = own === null ? found.operation : operationNamed(own);
  const ownName =
    named('agent.name') ?? (own === 'invoke_workflow' ? named('workflow.name') : null);
  const agent_name = ownName ?? agentName(attribute, found.convention, operation, spanName);
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

type IndexedConvention = (typeof CONVENTION_INDEX)[number];

/** Returns the first convention with a known operation, else the first whose attribute the span has. */
function conventionOf(attribute: ReadAttribute): {
  convention: IndexedConvention | undefined;
  operation: string | null;
} {
  let named: IndexedConvention | undefined;
  for (const convention of CONVENTION_INDEX) {
    const value = attribute(convention.attribute);
    if (typeof value !== 'string') continue;
    const operation = convention.operations.get(unquoted(value).toLowerCase());
    if (operation) return { convention, operation };
    named ??= convention;
  }
  return { convention: named, operation: null };
}

const unquoted = (value: string) => (/^".*"$/.test(value) ? value.slice(1, -1) : value);

function agentName(
  attribute: ReadAttribute,
  convention: IndexedConvention | undefined,
  operation: string | null,
  spanName: string | undefined,
): string | null {
  if (!convention) return null;
  const { names = {}, agent, isNamedAfterAgent } = convention;
  for (const name of names[operation ?? ''] ?? names['other'] ?? []) {
    const found = nameIn(attribute, name);
    if (found !== null) return found;
  }
  if (operation !== INVOKE_AGENT) return null;
  return agent ?? (isNamedAfterAgent && spanName ? text(spanName.replace(/\.run$/, '')) : null);
}

function nameIn(attribute: ReadAttribute, name: string): string | null {
  const found = text(
    attribute(name) ??
      (name.startsWith(METADATA) ? metadataOf(attribute, name.slice(METADATA.length)) : null),
  );
  const isNode = GRAPH_NODES.includes(name) || name.endsWith('.langgraph_node');
  return found !== null && isNode && IS_NO_AGENT.test(found) ? null : found;
}

const METADATA = 'metadata.';
/** Maximum length of metadata that is parsed to find one name. */
const MAX_METADATA = 64 * 1024;

function metadataOf(attribute: ReadAttribute, name: string): unknown {
  let metadata = attribute('metadata');
  if (typeof metadata === 'string') {
    if (metadata.length > MAX_METADATA || !metadata.includes(name)) return undefined;
    try {
      metadata = JSON.parse(metadata);
    } catch {
      // Python prints other quotation marks than JSON
      return new RegExp(`'${name}': '([^'\\\\]{1,${MAX_NAME}})'`).exec(metadata as string)?.[1];
    }
  }
  return isObject(metadata) && Object.hasOwn(metadata, name) ? metadata[name] : undefined;
}
