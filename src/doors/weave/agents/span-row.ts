import { wire } from '../../../platform/http/wire-names.js';
import { isObject } from '../../../platform/json/json-object.js';
import { Decimal } from '../../../platform/json/decimal.js';
import { inputTokens, type Tokens } from '../../../tracing/usage/tokens.js';
import { countedUsage, type Priceable, spendingOn } from '../../../tracing/pricing/price.js';
import { messagesOf, type SpanMessage, systemTexts, textOrJson } from './span-messages.js';
import {
  CUSTOM_TYPES,
  type CustomSource,
  KNOWN_ATTRIBUTES,
  SPAN_FIELDS,
  type SpanField,
} from './span-fields.js';
import type { SpanSourceCall } from './spans.query.js';

export type StatusCode = 'UNSET' | 'OK' | 'ERROR';

/** Costs in US dollars; null when unknown. */
export interface SpanCosts {
  input: Decimal | null;
  output: Decimal | null;
  cache_read: Decimal | null;
  cache_creation: Decimal | null;
  total: Decimal | null;
}

const SPAN_KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];
const KNOWN = new Set(KNOWN_ATTRIBUTES);
/** Custom attributes of one span, and characters of one value. */
const MAX_CUSTOM = 1024;
const MAX_CUSTOM_LENGTH = 256 * 1024;
const CUT = '… [cut]';

export const statusOf = ({ exception, status }: SpanSourceCall): StatusCode =>
  exception === null ? (status === '1' || status === 'STATUS_CODE_OK' ? 'OK' : 'UNSET') : 'ERROR';

function kindOf({ kind }: SpanSourceCall): string | null {
  if (kind === null) return null;
  return SPAN_KINDS[Number(kind)] ?? kind.replace(/^SPAN_KIND_/, '');
}

/** Returns the fields of attributes. A field without an attribute is null. */
export function fieldsOf({ attributes }: SpanSourceCall): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(SPAN_FIELDS).map(([name, { type, attributes: names }]) => {
      const found = names.find((one) => Object.hasOwn(attributes, one) && attributes[one] !== null);
      return [name, valueOf(type, found === undefined ? null : attributes[found])];
    }),
  );
}

function valueOf(type: SpanField['type'], value: unknown): unknown {
  if (type === 'texts')
    return (Array.isArray(value) ? value : value === null ? [] : [value]).map(textOrJson);
  if (value === null) return null;
  if (type === 'text') return textOrJson(value);
  const number = Number(value);
  return Number.isFinite(number) ? (type === 'int' ? Math.trunc(number) : number) : null;
}

/** Returns the tokens of all models of a span, or null when it reports none. */
export function tokensOf(row: SpanSourceCall): Tokens | null {
  const models = [...countedUsage(row as unknown as Priceable).values()];
  if (models.length === 0) return null;
  const sum = (name: keyof Tokens) => models.reduce((all, { tokens }) => all + tokens[name], 0);
  return {
    prompt_tokens: sum('prompt_tokens'),
    completion_tokens: sum('completion_tokens'),
    cache_read_input_tokens: sum('cache_read_input_tokens'),
    cache_creation_input_tokens: sum('cache_creation_input_tokens'),
  };
}

/** Returns the costs of a span. `row` must include its price records. */
export function costsOf(row: SpanSourceCall): SpanCosts {
  const priceable = row as unknown as Priceable;
  const spent = [...countedUsage(priceable).values()].map(
    (model) => spendingOn(model, priceable).costs,
  );
  const sum = (name: keyof Tokens) => sumKnown(spent.map((one) => one[name]));
  const kinds = {
    input: sum('prompt_tokens'),
    output: sum('completion_tokens'),
    cache_read: sum('cache_read_input_tokens'),
    cache_creation: sum('cache_creation_input_tokens'),
  };
  return { ...kinds, total: sumKnown(Object.values(kinds)) };
}

/** Returns the sum of the known costs, or null when none is known. */
export const sumKnown = (all: readonly (Decimal | null)[]): Decimal | null =>
  all.reduce<Decimal | null>((sum, one) => (one ? (sum ?? Decimal.zero).plus(one) : sum), null);

/** Returns the four maps of attributes that no field shows. */
function customAttributes({
  attributes,
}: SpanSourceCall): Record<CustomSource, Record<string, unknown>> {
  const maps = Object.fromEntries(
    Object.keys(CUSTOM_TYPES).map((source) => [source, {}]),
  ) as Record<CustomSource, Record<string, unknown>>;
  const put = (source: CustomSource, name: string, value: unknown) =>
    Object.defineProperty(maps[source], name, { value, enumerable: true });
  let left = MAX_CUSTOM;
  for (const [name, value] of Object.entries(attributes)) {
    if (KNOWN.has(name) || value === null) continue;
    if (left-- <= 0) break;
    if (typeof value === 'boolean') put('custom_attrs_bool', name, value);
    else if (typeof value === 'number')
      put(Number.isInteger(value) ? 'custom_attrs_int' : 'custom_attrs_float', name, value);
    else {
      const text = textOrJson(value);
      const isLong = text.length > MAX_CUSTOM_LENGTH;
      put('custom_attrs_string', name, isLong ? text.slice(0, MAX_CUSTOM_LENGTH) + CUT : text);
    }
  }
  return maps;
}

const jsonText = (value: unknown): string | null =>
  value === undefined || value === null ? null : textOrJson(value);

const memberOf = (document: unknown, name: string): unknown =>
  isObject(document) && Object.hasOwn(document, name) ? document[name] : undefined;

export interface SpanMessages {
  input_messages: SpanMessage[];
  output_messages: SpanMessage[];
  system_instructions: string[];
  tool_definitions: string | null;
  tool_call_arguments: string | null;
  tool_call_result: string | null;
}

const NO_MESSAGES: SpanMessages = {
  input_messages: [],
  output_messages: [],
  system_instructions: [],
  tool_definitions: null,
  tool_call_arguments: null,
  tool_call_result: null,
};

/** Returns the messages in the documents of a span. Tools have arguments and a result instead. */
export function spanMessages({ operation, inputs, output }: SpanSourceCall): SpanMessages {
  if (operation === 'execute_tool')
    return {
      ...NO_MESSAGES,
      tool_call_arguments:
        isObject(inputs) && Object.keys(inputs).length === 0
          ? null
          : jsonText(memberOf(inputs, 'value') ?? inputs),
      tool_call_result: jsonText(output),
    };
  return {
    ...NO_MESSAGES,
    input_messages: messagesOf(inputs, 'user'),
    output_messages: messagesOf(output, 'assistant'),
    system_instructions: systemTexts(memberOf(inputs, 'system_instructions')),
    tool_definitions: jsonText(memberOf(inputs, 'tools')),
  };
}

export function spanRow(
  row: SpanSourceCall,
  projectId: string,
  { hasCosts, hasDetails }: { hasCosts: boolean; hasDetails: boolean },
): object {
  const contents = hasDetails ? spanMessages(row) : NO_MESSAGES;
  const fields = fieldsOf(row);
  return {
    project_id: projectId,
    trace_id: row.trace_id,
    span_id: row.id,
    parent_span_id: row.parent_id,
    span_name: row.op_name,
    span_kind: kindOf(row),
    started_at: row.started_at,
    ended_at: row.ended_at,
    duration_ms: row.duration_ms,
    status_code: statusOf(row),
    status_message: row.exception,
    operation_name: row.operation,
    agent_name: row.agent_name,
    agent_version: row.agent_version,
    conversation_id: row.thread_id,
    parent_call_id: row.linked_call_id,
    [wire().userId]: row.user_id,
    [wire().runId]: row.run_id,
    [wire().runStep]: row.run_step,
    [wire().runStepEnd]: row.run_step_end,
    ...fields,
    request_model: fields['request_model'] ?? firstModel(row),
    ...shownTokens(tokensOf(row)),
    ...shownCosts(hasCosts ? costsOf(row) : null),
    ...contents,
    input_messages: contents.input_messages.map(wireMessage),
    output_messages: contents.output_messages.map(wireMessage),
    ...customAttributes(row),
    raw_span_dump: row.raw,
  };
}

const wireMessage = ({ role, content, finish_reason }: SpanMessage) => ({
  role,
  content,
  finish_reason,
});

const shownTokens = (tokens: Tokens | null) => ({
  input_tokens: tokens && inputTokens(tokens),
  output_tokens: tokens && tokens.completion_tokens,
  cache_read_input_tokens: tokens && tokens.cache_read_input_tokens,
  cache_creation_input_tokens: tokens && tokens.cache_creation_input_tokens,
});

const shownCosts = (cost: SpanCosts | null) => ({
  input_cost_usd: cost && cost.input,
  output_cost_usd: cost && cost.output,
  cache_read_cost_usd: cost && cost.cache_read,
  cache_creation_cost_usd: cost && cost.cache_creation,
  total_cost_usd: cost && cost.total,
});

const firstModel = (row: SpanSourceCall): string | null =>
  [...countedUsage(row as unknown as Priceable).keys()][0] ?? null;
