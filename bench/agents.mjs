/**
 * Measures the statements of `/agents/…` and of `include_trace_totals` with a million small spans in one project.
 * Prints milliseconds, pages, and rows that scans of `calls` returned or removed, by EXPLAIN (ANALYZE, BUFFERS). Starts
 * an embedded PostgreSQL.
 *
 *     npm run build && node bench/agents.mjs [spans=1000000] [--plans]
 *
 * The spans cover 29 days: four a trace, sixteen a conversation, twenty agents. Half of them report usage. `--plans`
 * prints the plans too.
 */
import { parseArgs } from 'node:util';
import {
  costedAgents,
  costedSpans,
  edgeSpans,
} from '../dist/src/doors/weave/agents/group-extras.query.js';
import { searchedSpans } from '../dist/src/doors/weave/agents/search.query.js';
import { hasSignals } from '../dist/src/doors/weave/agents/signals.query.js';
import { groupsQuery } from '../dist/src/doors/weave/agents/span-groups.query.js';
import { statsQuery } from '../dist/src/doors/weave/agents/span-stats.query.js';
import {
  agentsQuery,
  conversationSpans,
  customAttributes,
  spansCount,
  spansQuery,
  traceCalls,
  traceSize,
  turnsQuery,
} from '../dist/src/doors/weave/agents/spans.query.js';
import { TimeBuckets } from '../dist/src/tracing/statistics/time-buckets.js';
import { callRows } from '../dist/src/tracing/calls/read/call-lists.query.js';
import { serviceAndDatabase } from './support.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { plans: { type: 'boolean', default: false } },
});
const SPANS = Number(positionals[0] ?? 1e6);
const AT_ONCE = 50_000;
const project_id = 'acme/bench';
const { client, close } = await serviceAndDatabase();

const FILL = `
  INSERT INTO calls (project_id, id, op_name, trace_id, parent_id, thread_id, started_at, ended_at, user_id, attributes, inputs, output,
    summary, usage, operation, agent_name, agent_version, has_unread_usage)
  SELECT $1, 's' || n, operation, 't' || n / 4, CASE WHEN n % 4 > 0 THEN 's' || n - n % 4 END, 'talk ' || n / 16, at, at + interval '1 s', 'ada',
    json_build_object('gen_ai.operation.name', operation, 'gen_ai.provider.name', 'openai', 'gen_ai.request.model', 'gpt-4o-mini',
      'gen_ai.conversation.id', 'talk ' || n / 16, 'team', 'team ' || n % 9),
    json_build_object('messages', json_build_array(json_build_object('role', 'user', 'content', 'where to go ' || n))),
    json_build_object('messages', json_build_array(json_build_object('role', 'assistant', 'content', 'rome ' || n))), '{}',
    CASE WHEN n % 2 = 1 THEN json_build_array(json_build_object('llm_id', 'gpt-4o-mini', 'prompt_tokens', n % 1000, 'completion_tokens', n % 77)) END,
    operation, CASE WHEN n % 4 = 0 THEN 'agent ' || n / 4 % 20 END, CASE WHEN n % 4 = 0 THEN (n / 4 % 3)::text END, false
  FROM (SELECT n, CASE n % 4 WHEN 0 THEN 'invoke_agent' WHEN 2 THEN 'execute_tool' ELSE 'chat' END AS operation,
      '2026-01-01T00:00:00Z'::timestamptz + n * (interval '29 days' / $4::float8) AS at
    FROM generate_series($2::int, $3::int) n) t`;
for (let n = 0; n < SPANS; n += AT_ONCE)
  await client.query(FILL, [project_id, n, Math.min(n + AT_ONCE, SPANS) - 1, SPANS]);
await client.query('VACUUM ANALYZE calls');

const DAY = { started_after: '2026-01-10T00:00:00Z', started_before: '2026-01-11T00:00:00Z' };
const MONTH = { start: '2026-01-01T00:00:00Z', end: '2026-01-31T00:00:00Z' };
const PAGE = { project_id, limit: 100, offset: 0 };
const sources = ['production'];
const LIST = { project_id, hasDocuments: false, hasCosts: false };
const FULL = { project_id, hasDocuments: true, hasCosts: true };
const middle = Math.floor(SPANS / 2);
const TALK = `talk ${Math.floor(middle / 16)}`;
const is = (field, literal) => ({
  query: { $expr: { $eq: [{ $getField: field }, { $literal: literal }] } },
});
const tokens = { alias: 't', value: { key: 'input_tokens' }, value_type: 'number' };
const byTalk = { group_by: [{ key: 'conversation_id' }] };
const starts = (count, from, hours) =>
  Array.from({ length: count }, (_, i) => new Date(+new Date(from) + i * hours * 3_600_000));
const stats = (asked, from, to, count, hours) =>
  statsQuery(
    { project_id, metrics: [tokens], start: from, ...asked },
    new TimeBuckets({ since: from, until: to }, starts(count, from, hours)),
    null,
  );
const talks = (count) => Array.from({ length: count }, (_, i) => `talk ${i}`);
const tagged = { project_id, signal_filters: { tags: ['rude'] } };
/** @type {any} */
const roots = {
  project_id,
  filter: { trace_roots_only: true },
  sort_by: [{ field: 'started_at', direction: 'desc' }],
  include_trace_totals: true,
  include_costs: true,
};

const STATEMENTS = {
  '`/agents/query`': agentsQuery({ ...PAGE, sources, hasVersions: false }),
  '… of one agent': agentsQuery({ ...PAGE, sources, agent_name: 'agent 3', hasVersions: false }),
  '`/agents/agent-versions/query`': agentsQuery({
    ...PAGE,
    sources,
    agent_name: 'agent 3',
    hasVersions: true,
  }),
  '… with costs, up to 100,000 spans': costedAgents(
    project_id,
    { agent_name: null, hasVersions: false, sources },
    100_001,
  ),
  '… costs of one agent': costedAgents(
    project_id,
    { agent_name: 'agent 3', hasVersions: true, sources },
    100_001,
  ),
  '`/agents/spans/query`, a page': spansQuery(PAGE, LIST, null),
  '… its total': spansCount(PAGE, null),
  '… a page with details and costs': spansQuery(PAGE, { ...FULL, hasRaw: true }, null),
  '… of an agent': spansQuery({ ...PAGE, ...is('agent_name', 'agent 3') }, LIST, null),
  '… of a conversation': spansQuery({ ...PAGE, ...is('conversation_id', TALK) }, LIST, null),
  '… of a day': spansQuery({ ...PAGE, ...DAY }, LIST, null),
  '… by an attribute': spansQuery(
    { ...PAGE, ...is('custom_attrs_string.team', 'team 3') },
    LIST,
    null,
  ),
  '… by an attribute that none has': spansQuery(
    { ...PAGE, ...is('request_model', 'none') },
    LIST,
    null,
  ),
  '… by tags of feedback': spansQuery(PAGE, LIST, hasSignals(tagged)),
  '… groups by conversation': groupsQuery({ ...PAGE, ...byTalk }, null),
  '… their first and last messages': edgeSpans(project_id, talks(100)),
  '… groups by conversation, of a day': groupsQuery({ ...PAGE, ...byTalk, ...DAY }, null),
  '… costs of groups, of a day': costedSpans({ ...PAGE, ...byTalk, ...DAY }, null, 100_001),
  '`/agents/spans/stats`, 30 days': stats({}, MONTH.start, MONTH.end, 30, 24),
  '… by 1,000 conversations': stats(
    { ...byTalk, group_limit: 1000 },
    MONTH.start,
    MONTH.end,
    30,
    24,
  ),
  '… a day': stats({}, DAY.started_after, DAY.started_before, 24, 1),
  '`/agents/spans/custom-attrs/schema`': customAttributes(PAGE),
  '… attributes of a day': customAttributes({ ...PAGE, ...DAY }),
  '`/agents/traces/chat`, its size': traceSize(project_id, `t${Math.floor(middle / 4)}`),
  '… its calls': traceCalls(FULL, `t${Math.floor(middle / 4)}`, 10_000),
  '`/agents/conversations/chat`, its turns': turnsQuery(project_id, TALK, { limit: 50, offset: 0 }),
  '`/agents/conversations/spans` of 1,000': conversationSpans({ project_id }, talks(1000), 100_001),
  '`/agents/search`, a word that none has': searchedSpans({ project_id, query: 'nothing' }, 20_000),
  '… messages of an agent': searchedSpans(
    { project_id, query: 'rome', agent_name: 'agent 3' },
    20_000,
  ),
  '… messages of a conversation': searchedSpans(
    { project_id, query: 'rome', conversation_id: TALK },
    20_000,
  ),
  '… messages of a trace': searchedSpans({ project_id, query: 'rome', trace_id: 't7' }, 20_000),
  '… of a model that none has': searchedSpans(
    { project_id, query: '', request_model: 'none' },
    20_000,
  ),
  '`include_trace_totals`, 50 roots': callRows({ ...roots, limit: 50 }).query,
  '… 1,000 roots': callRows({ ...roots, limit: 1000 }).query,
};

const below = (node) => [node, ...(node.Plans ?? []).flatMap(below)];
const rowsOf = (node) =>
  node['Actual Loops'] *
  (node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0));
const figure = (value) => value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 });

async function explained(statement) {
  const { text, values } = statement.toQuery();
  const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
  const { Plan: plan, 'Execution Time': time } = rows[0]['QUERY PLAN'][0];
  const scans = below(plan).filter(({ 'Relation Name': table }) => table === 'calls');
  return {
    plan,
    time,
    pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    rows: scans.reduce((sum, scan) => sum + rowsOf(scan), 0),
    by: [...new Set(scans.map((scan) => scan['Index Name'] ?? scan['Node Type']))],
  };
}

const table = [];
for (const [name, statement] of Object.entries(STATEMENTS)) {
  await explained(statement); // reads the pages into memory
  const { plan, time, pages, rows, by } = await explained(statement);
  if (options.plans) console.log(name, JSON.stringify(plan, null, 1));
  table.push([name, figure(time), figure(pages), figure(rows), by.join(', ')]);
}
console.log(`| statement | ms | pages | rows of calls | by |\n| --- | ---: | ---: | ---: | --- |`);
for (const cells of table) console.log(`| ${cells.join(' | ')} |`);
await close();
