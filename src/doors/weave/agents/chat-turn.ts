import { wire } from '../../../platform/http/wire-names.js';
import type { Decimal } from '../../../platform/json/decimal.js';
import { mapYielding, EventLoopTurn } from '../../../platform/time/event-loop-turn.js';
import { inputTokens, type Tokens } from '../../../tracing/usage/tokens.js';
import { requestedToolCalls, reasoningOf } from './span-messages.js';
import { EXECUTE_TOOL, INVOKE_AGENT, LLM_OPERATIONS } from './span-fields.js';
import {
  spanMessages,
  type SpanMessages,
  costsOf,
  fieldsOf,
  type SpanCosts,
  statusOf,
  tokensOf,
  sumKnown,
} from './span-row.js';
import type { SpanSourceCall } from './spans.query.js';

/** Spans below this depth are shown after all others. */
const MAX_DEPTH = 200;

interface SpanNode {
  row: SpanSourceCall;
  fields: Record<string, unknown>;
  contents: SpanMessages;
  tokens: Tokens | null;
  costs: SpanCosts;
}

interface TurnMessage {
  type: string;
  span_id: string;
  [member: string]: unknown;
}

export interface ChatTurn {
  /** False when no call of the trace has an operation or names an agent. The turn has no messages then. */
  isOfAgents: boolean;
  turn: Record<string, unknown> & { messages: TurnMessage[] };
  cost: Decimal | null;
}

const isLlm = ({ row }: SpanNode) => LLM_OPERATIONS.includes(row.operation ?? '');
const isAgent = ({ row }: SpanNode) => row.operation === INVOKE_AGENT;

/** Converts the calls of a trace into a chat. The calls must be sorted by their starts. */
export async function chatTurn(
  rows: readonly SpanSourceCall[],
  hasToolCalls: boolean,
): Promise<ChatTurn> {
  const nodes = await mapYielding(rows, (row): SpanNode => ({
    row,
    fields: fieldsOf(row),
    contents: spanMessages(row),
    tokens: tokensOf(row),
    costs: costsOf(row),
  }));
  const order = depthFirst(nodes);
  const messages = await new ChatBuilder(order, hasToolCalls).messages();
  const root = nodes.find(({ row }) => row.parent_id === null) ?? order[0]!;
  const agent = nodes.find(({ row }) => row.agent_name !== null);
  const sum = (count: (tokens: Tokens) => number) =>
    nodes.reduce((all, { tokens }) => all + (tokens ? count(tokens) : 0), 0);
  const cost = sumKnown(nodes.map((node) => node.costs.total));
  const turn = {
    trace_id: root.row.trace_id,
    root_span_name: root.row.op_name,
    agent_name: agent?.row.agent_name ?? null,
    agent_version: agent?.row.agent_version ?? null,
    provider: nodes.map(({ fields }) => fields['provider_name']).find(Boolean) ?? null,
    status_code: statusOf(root.row),
    started_at: root.row.started_at,
    ended_at: root.row.ended_at,
    total_input_tokens: sum(inputTokens),
    total_output_tokens: sum((tokens) => tokens.completion_tokens),
    total_reasoning_tokens: nodes.reduce(
      (all, { fields }) => all + Number(fields['reasoning_tokens'] ?? 0),
      0,
    ),
    total_cache_creation_input_tokens: sum((tokens) => tokens.cache_creation_input_tokens),
    total_cache_read_input_tokens: sum((tokens) => tokens.cache_read_input_tokens),
    total_duration_ms: rounded(root.row.duration_ms),
    total_cost_usd: cost,
    [wire().userId]: root.row.user_id,
    feedback: null,
    messages,
  };
  const isOfAgents = rows.some(({ operation, agent_name }) => operation || agent_name);
  return { isOfAgents, turn, cost };
}

const rounded = (ms: number | null) => (ms === null ? null : Math.round(ms));

/**
 * Returns the nodes in depth-first order, children by their starts. A node whose parent is not in `nodes` is a root.
 */
function depthFirst(nodes: readonly SpanNode[]): SpanNode[] {
  const ids = new Set(nodes.map(({ row }) => row.id));
  const children = new Map<string | null, SpanNode[]>();
  for (const node of nodes) {
    const { parent_id } = node.row;
    const parent = parent_id !== null && ids.has(parent_id) ? parent_id : null;
    const list = children.get(parent);
    if (list) list.push(node);
    else children.set(parent, [node]);
  }
  const order: SpanNode[] = [];
  const seen = new Set<SpanNode>();
  const waiting = (children.get(null) ?? []).toReversed().map((node) => ({ node, depth: 0 }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { node, depth } = next;
    seen.add(node);
    order.push(node);
    if (depth >= MAX_DEPTH) continue;
    for (const child of (children.get(node.row.id) ?? []).toReversed())
      waiting.push({ node: child, depth: depth + 1 });
  }
  // nodes below the maximum depth, or in a cycle
  return order.length === nodes.length
    ? order
    : [...order, ...nodes.filter((node) => !seen.has(node))];
}

class ChatBuilder {
  private readonly shown: TurnMessage[] = [];
  /** Texts of users that are shown already, or that belong to earlier turns. */
  private readonly told = new Set<string>();
  private hasBegun = false;

  constructor(
    private readonly nodes: readonly SpanNode[],
    private readonly hasToolCalls: boolean,
  ) {}

  async messages(): Promise<TurnMessage[]> {
    const turn = new EventLoopTurn();
    const speaks = this.nodes.some(
      (node) => isLlm(node) && node.contents.output_messages.length > 0,
    );
    const first = this.nodes.find(isAgent) ?? this.nodes.find(isLlm);
    if (first) this.addUser(first);
    for (const node of this.nodes) {
      if (turn.isOver) await turn.next();
      if (node !== first && (isAgent(node) || isLlm(node))) this.addUser(node);
      if (isAgent(node)) this.addAgent(node, !speaks);
      else if (isLlm(node)) this.addAssistant(node);
      else if (node.row.operation === EXECUTE_TOOL) this.addTool(node);
      if (node.fields['compaction_summary'] !== null) this.addCompaction(node);
    }
    return this.shown;
  }

  private add(type: string, { row, fields }: SpanNode, payload: object): void {
    this.shown.push({
      type,
      span_id: row.id,
      agent_name: row.agent_name,
      agent_version: row.agent_version,
      started_at: row.started_at,
      status_code: statusOf(row),
      status_message: row.exception,
      error_type: fields['error_type'] ?? null,
      feedback: null,
      user_message: null,
      assistant_message: null,
      tool_call: null,
      agent_start: null,
      agent_handoff: null,
      context_compacted: null,
      [type]: payload,
    });
  }

  /** Adds new texts of the user. The first node with texts repeats the history, of which only the last text is new. */
  private addUser(node: SpanNode): void {
    const texts = node.contents.input_messages
      .filter(({ role, content }) => role === 'user' && content !== '')
      .map(({ content }) => content);
    const isFirst = !this.hasBegun && texts.length > 0;
    const news = isFirst ? texts.slice(-1) : texts.filter((text) => !this.told.has(text));
    if (texts.length > 0) this.hasBegun = true;
    for (const text of texts) this.told.add(text);
    for (const text of new Set(news))
      this.add('user_message', node, { text, content_refs: node.fields['content_refs'] });
  }

  private addAgent(node: SpanNode, speaksForItself: boolean): void {
    const { system_instructions, tool_definitions } = node.contents;
    this.add('agent_start', node, {
      model: node.fields['request_model'] ?? null,
      system_instructions: system_instructions.length > 0 ? system_instructions.join('\n') : null,
      tool_definitions,
      status: statusOf(node.row),
    });
    if (speaksForItself) this.addAssistant(node);
  }

  private addAssistant(node: SpanNode): void {
    const { row, fields, contents, tokens, costs } = node;
    const text = contents.output_messages
      .map(({ said }) => said)
      .filter((said) => said !== '')
      .join('\n');
    const reasoning = fields['reasoning_content'] ?? reasoningOf(row.output);
    if (text !== '' || reasoning !== null)
      this.add('assistant_message', node, {
        text,
        model: fields['response_model'] ?? fields['request_model'] ?? null,
        reasoning_content: reasoning,
        content_refs: [],
        input_tokens: tokens && inputTokens(tokens),
        output_tokens: tokens && tokens.completion_tokens,
        reasoning_tokens: fields['reasoning_tokens'],
        input_cost_usd: costs.input,
        output_cost_usd: costs.output,
        total_cost_usd: costs.total,
        duration_ms: rounded(row.duration_ms),
        status: statusOf(row),
      });
    if (this.hasToolCalls)
      for (const asked of requestedToolCalls(row.output))
        this.addCall(node, {
          tool_name: asked.name,
          tool_arguments: asked.arguments,
          tool_result: null,
          duration_ms: null,
        });
  }

  private addTool(node: SpanNode): void {
    const { tool_call_arguments, tool_call_result } = node.contents;
    this.addCall(node, {
      tool_name: (node.fields['tool_name'] as string | null) ?? node.row.op_name,
      tool_arguments: tool_call_arguments,
      tool_result: tool_call_result,
      duration_ms: rounded(node.row.duration_ms),
    });
  }

  private addCall(node: SpanNode, call: object): void {
    const { content_refs } = node.fields;
    this.add('tool_call', node, { ...call, content_refs, status: statusOf(node.row) });
  }

  private addCompaction(node: SpanNode): void {
    const { fields } = node;
    this.add('context_compacted', node, {
      compaction_summary: fields['compaction_summary'],
      compaction_items_before: fields['compaction_items_before'],
      compaction_items_after: fields['compaction_items_after'],
    });
  }
}
