import { isObject } from '../../platform/json/json-object.js';
import {
  type Attributes,
  readAttributes,
  type Content,
  toContent,
  nestPaths,
  contentMembers,
  parseContent,
} from './attributes.js';
import {
  CONVENTIONS,
  type AttributeForm,
  type AttributeTarget,
  USAGE_CONVENTIONS,
} from './conventions.js';
import type { OtlpSpan } from './otlp.js';

interface AttributeRule {
  /** Position of the row in the table. */
  rank: number;
  target: AttributeTarget;
  form: AttributeForm;
  /** An attribute that must be present too. */
  beside: string | null;
  /** The content and its member that the attribute sets; a null member stands for the whole content. */
  side: 'inputs' | 'output' | null;
  member: string | null;
}

/** Rules keyed by attribute. Rules for lists are keyed by the name before the first number. */
const [RULES, LISTS] = [new Map<string, AttributeRule[]>(), new Map<string, AttributeRule>()];
for (const [rank, [attribute, target, form = 'json', beside = null]] of [
  ...CONVENTIONS,
  ...USAGE_CONVENTIONS,
].entries()) {
  const [, side = null, member = null] = /^(inputs|output)(?:\.(.*))?$/.exec(target) ?? [];
  const rule = { rank, target, form, beside, side: side as AttributeRule['side'], member };
  if (form === 'list') LISTS.set(attribute, rule);
  else RULES.set(attribute, [...(RULES.get(attribute) ?? []), rule]);
}

interface RuleMatch {
  rule: AttributeRule;
  name: string;
  value: unknown;
  /** Attributes of a list, keyed by the rest of the name after the prefix. */
  entries?: Map<string, unknown>;
}

export interface SpanContent {
  /** Values that stay in the attributes, keyed by target, in the order of precedence. */
  values: Map<AttributeTarget, unknown[]>;
  inputs: Map<string, Content>;
  output: Map<string, Content>;
  /** Names of the attributes that became inputs or output. */
  taken: Set<string>;
}

/** Reads the values of the attributes, in the order of the table. Each attribute is read once. */
export function readSpanContent(own: Attributes, span: OtlpSpan): SpanContent {
  const hits: RuleMatch[] = [];
  const lists = new Map<AttributeRule, Map<string, unknown>>();
  const look = (value: unknown, name: string) => {
    for (const rule of RULES.get(name) ?? [])
      if (rule.beside === null || own.has(rule.beside)) hits.push({ rule, name, value });
    const at = name.search(NUMBER);
    const prefix = name.slice(0, Math.max(at, 0));
    const rule = LISTS.get(prefix);
    if (!rule) return;
    let entries = lists.get(rule);
    if (!entries) {
      lists.set(rule, (entries = new Map()));
      hits.push({ rule, name: prefix, value: undefined, entries });
    }
    entries.set(name.slice(at + 1), value);
  };
  own.forEach(look);
  for (const [name, value] of contentsOfEvents(span)) if (!own.has(name)) look(value, name);
  hits.sort((a, b) => a.rule.rank - b.rule.rank);
  const found = collectContent(hits, own);
  addMessageEvents(span, found);
  addEventsOfLogfire(own, found);
  return found;
}

/** Event of Claude Code. */
const TOOL_OUTPUT = 'tool.output';

const NUMBER = /\.\d/;

/** Returns contents that older instrumentations send in events. */
function contentsOfEvents({ events = [] }: OtlpSpan): Attributes {
  const contents: Attributes = new Map();
  for (const { name, attributes } of events)
    if (name?.startsWith('gen_ai.') || name === TOOL_OUTPUT)
      for (const [key, value] of readAttributes(attributes)) contents.set(key, value);
  return contents;
}

export const MESSAGE_EVENT = /^gen_ai\.(?:(system|user|assistant|tool)\.message|choice)$/;

/** Adds messages that are events of their own, as the conventions defined them before 2026. */
function addMessageEvents({ events = [] }: OtlpSpan, { inputs, output }: SpanContent): void {
  const messages: Record<'inputs' | 'output', unknown[]> = { inputs: [], output: [] };
  for (const { name, attributes } of events) {
    const [event, role = 'assistant'] = MESSAGE_EVENT.exec(name ?? '') ?? [];
    if (!event) continue;
    const members = Object.fromEntries(
      [...readAttributes(attributes)].map(([key, value]) => [key, parseContent(value).value]),
    );
    const { 'gen_ai.event.content': body, ...others } = members;
    const message = readMessage(role, { ...others, ...(isObject(body) ? body : {}) });
    messages[event === 'gen_ai.choice' ? 'output' : 'inputs'].push(message);
  }
  for (const [side, list] of [
    [inputs, messages.inputs],
    [output, messages.output],
  ] as const)
    if (list.length > 0 && !side.has('messages')) side.set('messages', toContent(list));
}

/** Adds the message events that Logfire lists in one attribute. The assistant's messages at the end are the answer. */
function addEventsOfLogfire(own: Attributes, { inputs, output, taken }: SpanContent): void {
  const said = own.has('logfire.span_type')
    ? messagesOf(parseContent(own.get('events')).value)
    : [];
  if (said.length === 0) return;
  const asked = said.findLastIndex(({ role }) => role !== 'assistant') + 1;
  const messages = said.map(({ message }) => message);
  taken.add('events');
  if (!inputs.has('messages')) inputs.set('messages', toContent(messages.slice(0, asked)));
  if (output.size === 0 && asked < messages.length)
    output.set('messages', toContent(messages.slice(asked)));
}

/** Returns the messages of a list of events, or none when the list holds anything else. */
function messagesOf(events: unknown): { role: string; message: object }[] {
  const said = [];
  for (const event of Array.isArray(events) ? (events as unknown[]) : []) {
    const { 'event.name': name, ...members } = isObject(event) ? event : {};
    const [kind, role = 'assistant'] = MESSAGE_EVENT.exec(String(name)) ?? [];
    if (!kind) return [];
    said.push({ role, message: readMessage(role, members) });
  }
  return said;
}

/**
 * Returns a message in the shape of a list's entry. A choice becomes its message; the result of a tool names its call
 * as in chats.
 */
function readMessage(role: string, { message, ...members }: Record<string, unknown>): object {
  if (isObject(message)) return { ...members, ...message, role: message['role'] ?? role };
  const { id, ...others } = members;
  return role === 'tool' && id !== undefined && !('tool_call_id' in others)
    ? { role, tool_call_id: id, ...others }
    : { role, ...members, ...(message !== undefined && { message }) };
}

function collectContent(hits: readonly RuleMatch[], own: Attributes): SpanContent {
  const found: SpanContent = {
    values: new Map(),
    inputs: new Map(),
    output: new Map(),
    taken: new Set(),
  };
  for (const hit of hits) {
    const { target, side } = hit.rule;
    if (side) addContent(hit, found[side], own, found.taken);
    else {
      const isQuoted = typeof hit.value === 'string' && hit.value.startsWith('"');
      const value = isQuoted ? parseContent(hit.value).value : hit.value;
      const values = found.values.get(target);
      if (values) values.push(value);
      else found.values.set(target, [value]);
    }
  }
  return found;
}

/**
 * Adds the content of a match. If two matches set the same member, the first one wins. A whole content that is not an
 * object becomes the member named in `WHOLE_MEMBERS`.
 */
function addContent(
  hit: RuleMatch,
  to: Map<string, Content>,
  own: Attributes,
  taken: Set<string>,
): void {
  const { rule, name, entries } = hit;
  const content = entries ? nestedContent(entries) : readContent(hit, own);
  if (!content) return;
  if (!entries) taken.add(name);
  else for (const path of entries.keys()) taken.add(`${name}.${path}`);
  for (const [member, part] of membersOf(rule, content)) {
    const before = to.get(member);
    if (!before || (rule.form === 'mime' && isWholeMessages(member, part.value)))
      to.set(member, part);
    else if (entries && member === 'messages') to.set(member, withToolCalls(before, part.value));
  }
}

function membersOf(rule: AttributeRule, content: Content): [string, Content][] {
  const { member, form } = rule;
  const isAll = member === null || (form === 'open' && typeof content.value === 'object');
  if (isAll && isObject(content.value)) return contentMembers(content);
  return [[isAll ? wholeName(rule, content) : member, content]];
}

/** Adds the tool calls of a message without content. LiteLLM sends them only in the spelled-out list. */
function withToolCalls(before: Content, list: unknown): Content {
  const messages = before.value;
  if (!Array.isArray(messages) || !Array.isArray(list)) return before;
  const [empty] = messages as unknown[];
  const [spelledOut] = list as unknown[];
  if (messages.length !== 1 || !isObject(empty) || !isObject(spelledOut)) return before;
  const { parts } = empty;
  const isEmpty = Array.isArray(parts) && parts.length === 0;
  return isEmpty ? toContent([{ ...empty, ...spelledOut }]) : before;
}

const wholeName = ({ side }: AttributeRule, { value }: Content): string =>
  side === 'inputs' && isWholeMessages('messages', value) ? 'messages' : WHOLE_MEMBERS[side!];

export const WHOLE_MEMBERS = { inputs: 'input', output: 'output' };

/**
 * Returns true for messages of a request body, which are complete. Messages that are spelled out as attributes lack
 * members such as the `type` of tool calls.
 */
const isWholeMessages = (member: string, value: unknown) =>
  member === 'messages' &&
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((message) => typeof (message as { role?: unknown } | null)?.role === 'string');

function nestedContent(entries: Map<string, unknown>): Content | undefined {
  const list = nestPaths(entries);
  return list === undefined ? undefined : toContent(list);
}

function readContent({ rule: { form }, name, value }: RuleMatch, own: Attributes): Content {
  const mime = form === 'mime' ? own.get(name.replace(/value$/, 'mime_type')) : undefined;
  const isText = form === 'text' || (mime !== undefined && mime !== 'application/json');
  return isText ? toContent(value) : parseContent(value);
}
