import { isObject } from '../common/is-object.js';
import {
  type Attributes,
  attributesOf,
  type Content,
  contentOf,
  listOf,
  membersOf,
  parsed,
} from './attributes.js';
import { CONVENTIONS, type Form, type Target } from './conventions.js';
import type { Origin, Span } from './otlp.js';

/** A span that cannot become a call; the message says why. */
export class InvalidSpan extends Error {}

const MAX_NAME = 1024;
const MAX_EXCEPTION = 1024 * 1024;

/** The free-form members as JSON texts; those of an end are there when the span has ended. */
interface Documents {
  attributes: string;
  inputs: string;
  output?: string;
  summary?: string;
}

/**
 * The call that a span is, without `otel_dump`. Contents move from the attributes to `inputs` and `output`; all other
 * attributes stay under their own names. A span without an end is a call that runs.
 * @throws InvalidSpan
 */
export function callOf(span: Span, origin: Origin, projectId: string) {
  const own = attributesOf(span.attributes);
  const found = findIn(own, span);
  const { values } = found;
  const id = idOf(span.spanId, 16, 'spanId');
  const parentId = span.parentSpanId ? idOf(span.parentSpanId, 16, 'parentSpanId') : null;
  const thread = firstText(values.get('thread'));
  const isTurn = thread !== undefined && (parentId === null || values.get('turn')?.[0] === true);
  const hasEnded = isSet(span.endTimeUnixNano);
  const call = {
    project_id: projectId,
    id,
    trace_id: idOf(span.traceId, 32, 'traceId'),
    parent_id: parentId,
    op_name: nameOf(span.name),
    display_name: firstText(values.get('display_name')) ?? null,
    started_at: timeOf(span.startTimeUnixNano, 'startTimeUnixNano'),
    thread_id: thread ?? null,
    turn_id: isTurn ? id : null,
    ...(hasEnded && {
      ended_at: timeOf(span.endTimeUnixNano, 'endTimeUnixNano'),
      exception: exceptionOf(span),
    }),
  };
  const documents: Documents = {
    attributes: attributesText(own, found.taken, origin),
    inputs: objectOf(found.inputs),
    ...(hasEnded && {
      output: outputOf(found.output),
      summary: JSON.stringify(summaryOf(found)),
    }),
  };
  return { call, documents };
}

const isSet = (nanos: string | number | undefined) => nanos !== undefined && Number(nanos) !== 0;

function nameOf(name: string | undefined): string {
  if (!name) return 'span';
  return name.length <= MAX_NAME ? name : Array.from(name).slice(0, MAX_NAME).join('');
}

interface Rule {
  /** Place in the table. */
  rank: number;
  target: Target;
  form: Form;
  /** Which content it is, and which member of that; null is all of it. */
  side: 'inputs' | 'output' | null;
  member: string | null;
}

/** The rules by attribute; those of lists by what stands before the first number. */
const [RULES, LISTS] = [new Map<string, Rule[]>(), new Map<string, Rule>()];
for (const [rank, [attribute, target, form = 'json']] of CONVENTIONS.entries()) {
  const [, side = null, member = null] = /^(inputs|output)(?:\.(.*))?$/.exec(target) ?? [];
  const rule = { rank, target, form, side: side as Rule['side'], member };
  if (form === 'list') LISTS.set(attribute, rule);
  else RULES.set(attribute, [...(RULES.get(attribute) ?? []), rule]);
}

/** An attribute that a rule is about. */
interface Hit {
  rule: Rule;
  name: string;
  value: unknown;
  /** Of a list: its attributes, by what follows the prefix. */
  entries?: Map<string, unknown>;
}

interface Found {
  /** Values of what stays in the attributes, by target, the first one first. */
  values: Map<Target, unknown[]>;
  inputs: Map<string, Content>;
  output: Map<string, Content>;
  /** Names of the attributes that have become contents. */
  taken: Set<string>;
}

/** What the attributes say, in the order of the table. Each is looked at once. */
function findIn(own: Attributes, span: Span): Found {
  const hits: Hit[] = [];
  const lists = new Map<Rule, Map<string, unknown>>();
  const look = (value: unknown, name: string) => {
    for (const rule of RULES.get(name) ?? []) hits.push({ rule, name, value });
    const [, prefix = '', path = ''] = SPELLED.exec(name) ?? [];
    const rule = prefix && LISTS.get(prefix);
    if (!rule) return;
    let entries = lists.get(rule);
    if (!entries) {
      lists.set(rule, (entries = new Map()));
      hits.push({ rule, name: prefix, value: undefined, entries });
    }
    entries.set(path, value);
  };
  own.forEach(look);
  for (const [name, value] of contentsOfEvents(span)) if (!own.has(name)) look(value, name);
  hits.sort((a, b) => a.rule.rank - b.rule.rank);
  return collected(hits, own);
}

/** `<prefix>.<number>.…` */
const SPELLED = /^([A-Za-z_.]+)\.(\d.*)$/s;

/** Contents that older instrumentations put into events. */
function contentsOfEvents({ events = [] }: Span): Attributes {
  const contents: Attributes = new Map();
  for (const { name, attributes } of events)
    if (name?.startsWith('gen_ai.'))
      for (const [key, value] of attributesOf(attributes)) contents.set(key, value);
  return contents;
}

function collected(hits: readonly Hit[], own: Attributes): Found {
  const found: Found = {
    values: new Map(),
    inputs: new Map(),
    output: new Map(),
    taken: new Set(),
  };
  for (const hit of hits) {
    const { target, side } = hit.rule;
    if (side) addContent(hit, found[side], own, found.taken);
    else {
      const values = found.values.get(target);
      if (values) values.push(hit.value);
      else found.values.set(target, [hit.value]);
    }
  }
  return found;
}

/** Of two values for one member the first one stays. A whole that is no object becomes the member named `WHOLE`. */
function addContent(hit: Hit, to: Map<string, Content>, own: Attributes, taken: Set<string>): void {
  const { rule, name, entries } = hit;
  const content = entries ? spelled(entries) : read(hit, own);
  if (!content) return;
  if (!entries) taken.add(name);
  else for (const path of entries.keys()) taken.add(`${name}.${path}`);
  const members: [string, Content][] =
    rule.member === null && isObject(content.value)
      ? membersOf(content)
      : [[rule.member ?? WHOLE[rule.side!], content]];
  for (const [member, part] of members)
    if (!to.has(member) || (rule.form === 'mime' && isWhole(member, part.value)))
      to.set(member, part);
}

const WHOLE = { inputs: 'input', output: 'output' };

/** A body as it was sent is whole; spelled as attributes, messages lose parts such as the `type` of tool calls. */
const isWhole = (member: string, value: unknown) =>
  member === 'messages' &&
  Array.isArray(value) &&
  value.every((message) => typeof (message as { role?: unknown } | null)?.role === 'string');

function spelled(entries: Map<string, unknown>): Content | undefined {
  const list = listOf(entries);
  return list === undefined ? undefined : contentOf(list);
}

function read({ rule: { form }, name, value }: Hit, own: Attributes): Content {
  const isJson =
    form === 'json' ||
    (form === 'mime' && own.get(name.replace(/value$/, 'mime_type')) === 'application/json');
  return isJson ? parsed(value) : contentOf(value);
}

const quotedNames = new Map<string, string>();

/** `"name":`; the names of attributes are few and come again. */
function quoted(name: string): string {
  const known = quotedNames.get(name);
  if (known) return known;
  const text = `${JSON.stringify(name)}:`;
  if (name.length <= 64 && quotedNames.size < 2000) quotedNames.set(name, text);
  return text;
}

function objectOf(members: Map<string, Content>): string {
  let text = '';
  for (const [name, part] of members) text += `${text ? ',' : '{'}${quoted(name)}${part.text}`;
  return text ? `${text}}` : '{}';
}

/** An output that is one value is that value, an empty one null. */
const outputOf = (members: Map<string, Content>): string =>
  members.size === 0
    ? 'null'
    : members.size === 1 && members.has(WHOLE.output)
      ? members.get(WHOLE.output)!.text
      : objectOf(members);

/** What is left of the attributes, behind resource and scope, of which an own attribute of such a name takes the place. */
function attributesText(own: Attributes, taken: Set<string>, origin: Origin): string {
  let text = own.has('resource') || own.has('scope') ? '' : originText(origin);
  if (!text) {
    const { resource, scope } = originOf(origin);
    const parts = { resource, scope, ...Object.fromEntries(own) };
    return JSON.stringify(
      Object.fromEntries(Object.entries(parts).filter(([name]) => !taken.has(name))),
    );
  }
  for (const [name, value] of own)
    if (!taken.has(name)) text += `,${quoted(name)}${JSON.stringify(value)}`;
  return `${text}}`;
}

const originOf = ({ resource, scope }: Origin) => ({
  resource: Object.fromEntries(attributesOf(resource.attributes)),
  scope: { name: scope.name, version: scope.version },
});

const originTexts = new WeakMap<Origin, string>();

/** `{"resource":…,"scope":…`, the same for all spans of an origin. */
function originText(origin: Origin): string {
  let text = originTexts.get(origin);
  if (!text) originTexts.set(origin, (text = JSON.stringify(originOf(origin)).slice(0, -1)));
  return text;
}

/** The first of the values that is a text or a number, as text; empty ones do not count. */
function firstText(values: readonly unknown[] = []): string | undefined {
  const value = values.find(
    (one) => typeof one === 'number' || (typeof one === 'string' && one !== ''),
  );
  return value === undefined ? undefined : `${value as string | number}`;
}

const COUNTS = [...new Set(CONVENTIONS.map(([, target]) => target))].filter((target) =>
  target.startsWith('usage.'),
);

function summaryOf({ values }: Found): object {
  const usage: Record<string, number> = {};
  for (const target of COUNTS) {
    const count = Number(values.get(target)?.find((value) => value !== null));
    if (Number.isSafeInteger(count) && count >= 0) usage[target.slice('usage.'.length)] = count;
  }
  if (Object.keys(usage).length === 0) return {};
  const model = firstText(values.get('model')) ?? 'unknown';
  return { usage: { [model]: { requests: 1, ...usage } } };
}

const ERROR = 2; // STATUS_CODE_ERROR

/** Of a span that failed: its exception event, or what its status says. */
function exceptionOf({ status, events = [] }: Span): string | null {
  if (status?.code !== ERROR) return null;
  const event = attributesOf(events.findLast(({ name }) => name === 'exception')?.attributes);
  const named = ['exception.type', 'exception.message'].flatMap(
    (name) => firstText([event.get(name)]) ?? [],
  );
  const text = firstText([event.get('exception.stacktrace')]) ?? named.join(': ');
  return (text || status.message || 'error').replaceAll('\0', '').slice(0, MAX_EXCEPTION);
}

function idOf(hex: string | undefined, length: number, name: string): string {
  if (hex?.length !== length || /^0+$/.test(hex))
    throw new InvalidSpan(`${name} must be ${length / 2} bytes that are not all zero`);
  return hex;
}

/** Nanoseconds since 1970 as ISO 8601 with microseconds; finer ones are cut off. */
function timeOf(nanos: string | number | undefined, name: string): string {
  if (!isSet(nanos)) throw new InvalidSpan(`${name} is required`);
  const digits = (typeof nanos === 'number' ? BigInt(nanos).toString() : nanos!).padStart(9, '0');
  const seconds = new Date(Number(digits.slice(0, -9)) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${digits.slice(-9, -3)}Z`;
}
