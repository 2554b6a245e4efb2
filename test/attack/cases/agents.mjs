// Queries about agents: groups, chats, conversations and searches over spans that were made to be expensive.
import { many, PROJECT, times } from '../client.mjs';

const MIB = 1024 * 1024;
const FOREIGN = 'other/project';
const SECRET = 'the-victims-secret';
const ASKED_AT_ONCE = 12;

let made = 0;
const hex = (number, digits) => number.toString(16).padStart(digits, '0');
const valueOf = (value) =>
  typeof value === 'number' ? { doubleValue: value } : { stringValue: value };
const messages = (role, content) => JSON.stringify([{ role, content }]);

/**
 * Returns a span of an agent. It has its own trace unless `place` names one.
 * @param {object} attributes
 * @param {{ trace?: number, parent?: number, id?: number }} [place]
 */
function aSpan(attributes, { trace = ++made + 1e9, parent, id = ++made + 5e9 } = {}) {
  const at = 1_769_860_800_000 + made;
  const all = { 'gen_ai.operation.name': 'chat', 'gen_ai.agent.name': 'a', ...attributes };
  return {
    traceId: hex(trace, 32),
    spanId: hex(id, 16),
    ...(parent && { parentSpanId: hex(parent, 16) }),
    name: 'chat',
    startTimeUnixNano: `${at}000000`,
    endTimeUnixNano: `${at + 5}000000`,
    attributes: Object.entries(all).map(([key, value]) => ({ key, value: valueOf(value) })),
  };
}

/** Stores `count` spans from `make(i)`, in batches. */
async function store(it, count, make, { atOnce = 500, as = 'attacker', project = PROJECT } = {}) {
  for (let from = 0; from < count; from += atOnce) {
    const spans = times(Math.min(atOnce, count - from), (i) => make(from + i));
    const body = { resourceSpans: [{ scopeSpans: [{ spans }] }] };
    const { status, text } = await it.send('/agents/otel/v1/traces', body, {
      as,
      compress: 'gzip',
      headers: { project_id: project },
    });
    it.must(
      status === 200 && text === '{}',
      `spans were not stored: ${status} ${text.slice(0, 200)}`,
    );
  }
}

/** A statement stops after READ_TIMEOUT_SECONDS, and may wait as long before it starts. */
const PATIENCE = { timeoutMs: 150_000 };
/** @param {{ timeoutMs?: number, as?: string }} [options] */
const ask = (it, operation, more = {}, options = PATIENCE) =>
  it.send(`/agents/${operation}`, { project_id: PROJECT, ...more }, options);
/** Sends one query many times at once. */
const askMany = (it, operation, more) =>
  Promise.all(times(ASKED_AT_ONCE, () => ask(it, operation, more)));

const custom = (i, type = 'string') => ({ source: `custom_attrs_${type}`, key: `k${i}` });
const among = (field, words) => ({
  $expr: { $in: [{ $getField: field }, words.map((word) => ({ $literal: word }))] },
});

export const cases = [
  {
    name: 'agents: the widest groups over many spans, while another key exports',
    deadlineMs: 300_000,
    async attack(it) {
      const keys = Object.fromEntries(times(8, (i) => [`k${i}`, 0]));
      await store(it, 50_000, (n) =>
        aSpan(Object.fromEntries(Object.keys(keys).map((key, i) => [key, `${n % (i + 50)}-${n}`]))),
      );
      const filter = among(
        'custom_attrs_string.k1',
        times(200, (i) => `${i}-${i}`),
      );
      const measure = (alias, i, aggregation) => ({
        alias,
        aggregation,
        value: custom(i % 8),
        filter,
      });
      const group_by = times(8, (i) => custom(i));
      const wide = {
        group_by,
        measures: times(50, (i) => measure(`m${i}`, i, 'count_distinct')),
        group_filters: times(20, (i) => ({ measure: measure(`f${i}`, i, 'count'), min: 0 })),
        sort_by: times(32, (i) => ({ field: `m${i}`, direction: 'asc' })),
        limit: 10_000,
        include_costs: true,
      };
      const stats = {
        start: '2026-01-15T00:00:00Z',
        end: '2026-02-14T00:00:00Z',
        granularity: 300,
        group_by,
        group_limit: 1000,
        metrics: times(20, (i) => ({
          alias: `m${i}`,
          value: custom(i % 8),
          value_type: 'number',
          aggregations: ['sum', 'avg', 'min', 'max', 'count', 'count_distinct'],
          percentiles: [1, 5, 10, 25, 50, 75, 90, 95, 99],
        })),
      };
      const asked = Promise.all([
        askMany(it, 'spans/query', wide),
        askMany(it, 'spans/stats', stats),
        askMany(it, 'query', { include_costs: true, limit: 10_000 }),
      ]);
      await store(it, 20, () => aSpan({}), { atOnce: 1, as: 'victim', project: FOREIGN });
      await asked;
    },
  },
  {
    name: 'agents: values of 1 MB that are counted, filtered and sorted by 50 measures',
    deadlineMs: 300_000,
    async attack(it) {
      await store(it, 200, (n) => aSpan({ k0: `${n}`.repeat(MIB / `${n}`.length) }), {
        atOnce: 20,
      });
      const measures = times(50, (i) => ({
        alias: `m${i}`,
        aggregation: 'count_distinct',
        value: custom(0),
      }));
      await askMany(it, 'spans/query', { group_by: [custom(0)], measures });
      const sort_by = times(32, () => ({ field: 'custom_attrs_string.k0' }));
      await askMany(it, 'spans/query', { sort_by, limit: 10_000, include_details: true });
    },
  },
  {
    name: 'agents: thousands of attributes on each span, with names that mean harm',
    isQuick: true,
    deadlineMs: 200_000,
    async attack(it) {
      const hostile = [
        '__proto__',
        'constructor',
        'hasOwnProperty',
        "'; DROP TABLE calls; --",
        'a"b',
        '$1',
        '%s',
        '{a,b}',
        'a.b[0].*',
        '(a+)+$',
        '\\',
        '\n',
        '\u202e',
        '\ud800',
        '😀',
        'k'.repeat(1000),
        'k'.repeat(5000),
        '.',
        '..',
        ' ',
        '',
      ];
      const attributes = Object.fromEntries([
        ...times(3000, (i) => [`n${i}`, i % 2 ? i : 'text']),
        ...hostile.map((name) => [name, 'x']),
      ]);
      await store(it, it.options.isQuick ? 5 : 300, () => aSpan(attributes), { atOnce: 5 });
      await askMany(it, 'spans/custom-attrs/schema', { limit: 2000 });
      await ask(it, 'spans/custom-attrs/schema', { limit: 2000, offset: 2_147_483_647 });
      await askMany(it, 'spans/query', { limit: 10_000, include_details: true });
      await many(hostile.length, 4, async (i) => {
        const key = hostile[i];
        const value = { source: 'custom_attrs_string', key };
        for (const more of [
          { group_by: [value] },
          { group_by: [{ source: 'field', key }] },
          { group_by: [{ ...custom(0), alias: key.slice(0, 256) }] },
          { sort_by: [{ field: `custom_attrs_string.${key}` }] },
          { sort_by: [{ field: key }] },
          { query: among(`custom_attrs_string.${key}`, ['x']) },
          { query: among(key, ['x']) },
        ])
          await ask(it, 'spans/query', more);
        await ask(it, 'query', { filters: { agent_name: key } });
        await ask(it, 'conversations/chat', { conversation_id: key });
        await ask(it, 'traces/chat', { trace_id: key, include_feedback: true });
      });
    },
    answers: [200, 400, 404, 413, 503],
  },
  {
    name: 'agents: filters that are deep, wide and many',
    isQuick: true,
    async attack(it) {
      const paths = (count) => ({
        $expr: {
          $and: times(count, (i) => ({
            $eq: [
              { $getField: `custom_attrs_string.${'x'.repeat(780)}${i}` },
              { $literal: 'y'.repeat(1000) },
            ],
          })),
        },
      });
      const measure = (i, filter) => ({ alias: `m${i}`, aggregation: 'count', filter });
      const deep = `${'{"$not":['.repeat(100_000)}1${']}'.repeat(100_000)}`;
      for (const operation of ['spans/query', 'spans/stats', 'spans/custom-attrs/schema'])
        await it.send(
          `/agents/${operation}`,
          `{"project_id":"${PROJECT}","start":"2026-01-31T00:00:00Z","query":{"$expr":${deep}}}`,
        );
      await ask(it, 'spans/query', { query: paths(300) });
      await askMany(it, 'spans/query', { query: paths(35) });
      await askMany(it, 'spans/query', {
        query: paths(35),
        group_by: [custom(0)],
        measures: times(50, (i) => measure(i, paths(35))),
        group_filters: times(20, (i) => ({ measure: measure(i, paths(35)), min: 1 })),
      });
      await askMany(it, 'spans/query', {
        signal_filters: {
          tags: times(20, (i) => `${'%_'.repeat(100)}${i}`),
          ratings: times(20, (i) => ({ scorer_key: `${'"'.repeat(200)}${i}`, op: 'gt', value: i })),
        },
      });
      const sort_by = times(32, (i) => ({ field: `custom_attrs_int.${'x'.repeat(780)}${i}` }));
      await askMany(it, 'spans/query', { sort_by });
    },
    answers: [200, 400, 503],
  },
  {
    name: 'agents: chats of a conversation of 31 MB, and of one chain of 9,000 spans',
    deadlineMs: 200_000,
    async attack(it) {
      const conversation = `large-${++made}`;
      const named = { 'gen_ai.conversation.id': conversation };
      const trace = ++made;
      const part = (i) => messages('user', String(i).repeat(7.8 * MIB));
      const larges = times(4, (i) =>
        aSpan({ ...named, 'gen_ai.input.messages': part(i) }, { trace }),
      );
      await store(it, larges.length, (i) => larges[i], { atOnce: 1 });
      const chain = ++made;
      const first = made + 1;
      const length = 9000;
      await store(it, length, (i) => {
        const parent = i === 0 ? undefined : first + i - 1;
        return aSpan(
          { 'gen_ai.input.messages': messages('user', `${i} ${'y'.repeat(1000)}`) },
          { trace: chain, parent, id: first + i },
        );
      });
      const options = { include_feedback: true, include_model_tool_calls: true };
      for (let i = 0; i < 4; i++) {
        await askMany(it, 'conversations/chat', { conversation_id: conversation, ...options });
        await askMany(it, 'traces/chat', { trace_id: hex(trace, 32), ...options });
        await askMany(it, 'traces/chat', { trace_id: hex(chain, 32), ...options });
        await askMany(it, 'search', { conversation_id: conversation, truncate_content: false });
      }
    },
    answers: [200, 413, 503],
  },
  {
    name: 'agents: 10,000 ids of conversations, which are as long as may be',
    deadlineMs: 300_000,
    async attack(it) {
      const long = 'i'.repeat(1024);
      const perTrace = 500;
      await store(
        it,
        90_000,
        (n) =>
          aSpan(
            { 'gen_ai.conversation.id': `${long}${n % 3}` },
            { trace: Math.floor(n / perTrace) + 5e9 },
          ),
        { atOnce: 2000 },
      );
      const conversation_ids = times(10_000, (i) => `${long}${i}`);
      await askMany(it, 'conversations/spans', { conversation_ids });
      await askMany(it, 'conversations/spans', {
        conversation_ids: times(10_000, (i) => `${i}${'\'"\\%(é'.repeat(180)}`),
      });
      await askMany(it, 'conversations/chat', { conversation_id: `${long}0` });
    },
    answers: [200, 400, 413, 503],
  },
  {
    name: 'agents: searches whose every message is kept, with words that look like patterns',
    deadlineMs: 300_000,
    async attack(it) {
      const text = 'a'.repeat(800_000);
      await store(
        it,
        600,
        (n) => aSpan({ 'gen_ai.input.messages': messages('user', `${n} ${made} ${text}`) }),
        { atOnce: 20 },
      );
      await Promise.all(
        times(6, () => ask(it, 'search', { limit: 1000, offset: 100_000, query: 'aaaa' })),
      );
      for (const query of [
        '(a+)+$',
        '(a|aa)+b',
        '%_%_%',
        '\\',
        '\\u0061',
        '"',
        'İ'.repeat(500),
        'ﬃ',
        `${'a'.repeat(999)}b`,
        "' OR 1=1 --",
        '😀'.repeat(400),
      ])
        await ask(it, 'search', { query, limit: 1000 });
    },
    answers: [200, 400, 503],
  },
  {
    name: 'agents: conversations of another project',
    isQuick: true,
    async attack(it) {
      const conversation = `victim-${++made}`;
      const span = aSpan({
        'gen_ai.conversation.id': conversation,
        'gen_ai.agent.name': SECRET,
        'gen_ai.input.messages': messages('user', SECRET),
      });
      await store(it, 1, () => span, { as: 'victim', project: FOREIGN });
      const named = { conversation_id: conversation };
      const questions = [
        ['query', { filters: { agent_name: SECRET } }],
        ['agent-versions/query', { agent_name: SECRET }],
        ['spans/query', { include_details: true, query: among('trace_id', [span.traceId]) }],
        ['spans/query', { group_by: [{ source: 'field', key: 'agent_name' }] }],
        ['spans/stats', { start: '2026-01-15T00:00:00Z', end: '2026-02-14T00:00:00Z' }],
        ['spans/custom-attrs/schema', {}],
        ['traces/chat', { trace_id: span.traceId, include_feedback: true }],
        ['conversations/chat', { ...named, include_feedback: true }],
        ['conversations/spans', { conversation_ids: [conversation] }],
        ['search', { query: SECRET }],
        ['search', { ...named, trace_id: span.traceId }],
      ];
      await many(questions.length, 4, async (i) => {
        const [operation, more] = /** @type {[string, object]} */ (questions[i]);
        const foreign = await ask(it, operation, { project_id: FOREIGN, ...more });
        it.must(foreign.status === 403, `${operation} of a foreign project: ${foreign.status}`);
        const own = await ask(it, operation, more);
        const isTold = own.text.includes(span.spanId) || own.text.includes(`"${SECRET}"`);
        it.must(!isTold, `${operation} told of a foreign project`);
      });
      const seen = await ask(it, 'search', { project_id: FOREIGN, ...named }, { as: 'victim' });
      it.must(seen.text.includes(SECRET), 'the victim does not find its own conversation');
    },
    answers: [200, 400, 403, 404],
  },
];
