// SQL: spans are calls, and their JSON attributes are parsed once for all fields of a statement.
import { perDialect, wire } from '../../../platform/http/wire-names.js';
import { ownUsageRows } from '../../../tracing/usage/own-usage.query.js';
import { compile } from '../../../platform/query/expression.js';
import {
  NameBudget,
  column,
  type Columns,
  InvalidQuery,
  jsonAt,
  jsonValueAt,
  nameBudget,
  type Operand,
  type NamePrefix,
  resolve,
} from '../../../platform/query/columns.js';
import { computedOnce } from '../../../platform/query/plans.js';
import { allOf, identifier, isOneOf, join, sql, type Sql } from '../../../platform/query/sql.js';
import { type CallSource, PRODUCTION } from '../../../tracing/conventions/call-source.js';
import { LATENCY_MS, visibleIn } from '../../../tracing/visible-calls.js';
import { CUSTOM_SOURCES, type CustomSource, SPAN_FIELDS } from './span-fields.js';

/** Fields by which a query names spans, traces, conversations or an evaluation. */
const NAMING_FIELD =
  /"\$getField":"(?:weave\.|gen_ai\.)?(?:span_id|trace_id|parent_span_id|parent_call[._](?:trace_)?id|conversation[._]id|eval[._]\w+)"/;

/**
 * Returns the sources that count, empty for all. Without sources in the request it is production, unless the query
 * names specific spans.
 */
export const countedSources = ({
  sources,
  query,
}: {
  sources?: CallSource[] | null;
  query?: object | null;
}): CallSource[] =>
  sources ?? (query && NAMING_FIELD.test(JSON.stringify(query)) ? [] : [PRODUCTION]);

export interface SpanSelection {
  /** All when absent or empty. */
  sources?: CallSource[] | null;
  project_id: string;
  query?: object | null;
  started_after?: string | null;
  started_before?: string | null;
}

/** A value of spans: a field, or a custom attribute with its map. */
export interface ValueRef {
  source?: string | null;
  key: string;
}

const ATTRIBUTES = column.json(sql`c.attributes`, sql`c.is_opaque`);
const DUMP = column.json(sql`c.otel_dump`, sql`c.is_opaque`);

/** Characters of all filters of measures. 70 trees of the maximum size took gigabytes of memory in PostgreSQL. */
const MAX_FILTERS = 32 * 1024;

/** Matches calls that are spans of agents. The condition is that of the index `calls_spans_idx`. */
const spansIn = (projectId: string) => sql`${visibleIn(projectId)} AND c.operation IS NOT NULL`;

/** The conversation of the span `c`, or NULL. */
export const CONVERSATION = sql`nullif(c.thread_id, '')`;

const STATUS = sql`(CASE WHEN c.exception IS NOT NULL THEN 'ERROR'
  WHEN ${jsonAt(DUMP, ['status', 'code']).sql} IN ('1', 'STATUS_CODE_OK') THEN 'OK' ELSE 'UNSET' END)`;

/** Comparing a status with ERROR needs only the column, not the dump. */
const STATUSES = new Map([['ERROR', sql`(c.exception IS NOT NULL)`]]);

const tokens = (name: string) =>
  column.number(sql`(SELECT sum(u.${identifier(name)}) FROM ${ownUsageRows} u)`);

const callColumns = perDialect((): Columns => ({
  project_id: column.text(sql`c.project_id`, { isNotNull: true }),
  trace_id: column.text(sql`c.trace_id`, { isNotNull: true }),
  span_id: column.text(sql`c.id`, { isNotNull: true }),
  parent_span_id: column.text(sql`c.parent_id`),
  span_name: column.text(sql`c.op_name`, { isNotNull: true }),
  started_at: column.time(sql`c.started_at`, { isNotNull: true }),
  ended_at: column.time(sql`c.ended_at`),
  duration_ms: column.number(LATENCY_MS),
  status_code: column.text(STATUS, { isNotNull: true, cases: STATUSES }),
  status_message: column.text(sql`c.exception`),
  operation_name: column.text(sql`nullif(c.operation, '')`, {
    cases: { get: (name) => sql`(c.operation = ${name})` },
  }),
  agent_name: column.text(sql`c.agent_name`),
  agent_version: column.text(sql`c.agent_version`),
  conversation_id: column.text(CONVERSATION, {
    // the expression of the index on threads
    cases: { get: (id) => sql`((c.thread_id || '') = ${id} AND c.thread_id <> '')` },
  }),
  parent_call_id: column.text(sql`c.linked_call_id`),
  input_tokens: tokens('input_tokens'),
  output_tokens: tokens('completion_tokens'),
  cache_read_input_tokens: tokens('cache_read_input_tokens'),
  cache_creation_input_tokens: tokens('cache_creation_input_tokens'),
  total_tokens: column.number(
    sql`(SELECT sum(u.input_tokens::numeric + u.completion_tokens) FROM ${ownUsageRows} u)`,
  ),
  [wire().userId]: column.text(sql`c.user_id`),
  [wire().runId]: column.text(sql`c.run_id`),
  [wire().runStep]: column.number(sql`c.run_step`, { isInteger: true }),
  [wire().runStepEnd]: column.number(sql`c.run_step_end`, { isInteger: true }),
}));

/** Other names of fields: names of attributes, with and without their prefix. */
const ALIASES = new Map<string, string>(
  [
    ...Object.entries(SPAN_FIELDS).flatMap(([name, { attributes }]) =>
      attributes.map((attribute) => [attribute, name]),
    ),
    ...[
      ['operation.name', 'operation_name'],
      ['agent.name', 'agent_name'],
      ['agent.version', 'agent_version'],
      ['conversation.id', 'conversation_id'],
      ['usage.input_tokens', 'input_tokens'],
      ['usage.output_tokens', 'output_tokens'],
      ['usage.cache_read.input_tokens', 'cache_read_input_tokens'],
      ['usage.cache_creation.input_tokens', 'cache_creation_input_tokens'],
      ['parent_call.id', 'parent_call_id'],
    ].flatMap(([key, name]) => [
      [`weave.${key!}`, name!],
      [`gen_ai.${key!}`, name!],
    ]),
  ].flatMap(([attribute, name]) => [
    [attribute!, name!] as const,
    [attribute!.replace(/^(weave|gen_ai)\./, ''), name!] as const,
  ]),
);

/** Conditions on the value `x.v` for each type of custom attribute. */
const IS_CUSTOM: Record<CustomSource, Sql> = {
  custom_attrs_string: sql`json_typeof(x.v) IN ('string', 'array', 'object')`,
  custom_attrs_int: sql`json_typeof(x.v) = 'number' AND x.v::text ~ '^-?[0-9]+$'`,
  custom_attrs_float: sql`json_typeof(x.v) = 'number' AND x.v::text !~ '^-?[0-9]+$'`,
  custom_attrs_bool: sql`json_typeof(x.v) = 'boolean'`,
};

function customValue(source: CustomSource, key: string): Operand {
  const value = sql`(SELECT CASE WHEN ${IS_CUSTOM[source]} THEN x.v #>> '{}' END
    FROM ${computedOnce(sql`SELECT ${jsonValueAt(ATTRIBUTES, [key])} AS v`, 'x')})`;
  return { type: 'json', sql: value };
}

/**
 * The spans `c` that a statement reads, and the names that it may use. All named attributes come from one
 * `json_to_record`, which extracts any number of them in the time of one.
 */
export class SpanSource {
  private readonly read = new Set<string>();
  private readonly bytes = nameBudget();
  private readonly filters = new NameBudget(MAX_FILTERS, 'characters for all filters of measures');
  readonly columns: Columns;

  /** `calls` provides the calls, as `c`. */
  constructor(private readonly calls = sql`calls c`) {
    const fields = Object.entries(SPAN_FIELDS).map(
      ([name, { attributes }]): [string, NamePrefix] => [
        name,
        (path) => (path.length === 0 ? this.attribute(attributes) : undefined),
      ],
    );
    const custom = CUSTOM_SOURCES.map((source): [string, NamePrefix] => [
      source,
      (path) => (path.length === 0 ? undefined : customValue(source, path.join('.'))),
    ]);
    const all: Columns = { ...callColumns(), ...Object.fromEntries([...fields, ...custom]) };
    const aliases = [...ALIASES].filter(([alias]) => !Object.hasOwn(all, alias));
    this.columns = {
      ...all,
      ...Object.fromEntries(aliases.map(([alias, name]) => [alias, all[name]!])),
    };
  }

  private attribute(names: readonly string[]): Operand {
    for (const name of names) this.read.add(name);
    const values = names.map((name) => sql`a.${identifier(name)}`);
    return { type: 'json', sql: sql`coalesce(${join(values)})` };
  }

  field = (name: string, path: string): Operand => resolve(this.columns, name, path, this.bytes);

  /** @throws InvalidQuery */
  value({ source, key }: ValueRef, path: string): Operand {
    if (source && CUSTOM_SOURCES.includes(source as CustomSource)) {
      this.bytes.spend(Buffer.byteLength(key), `${path}.key`);
      return customValue(source as CustomSource, key);
    }
    if (!Object.hasOwn(this.columns, key) || CUSTOM_SOURCES.includes(key as CustomSource))
      throw new InvalidQuery(`${path}.key`, `names an unknown field`);
    return this.field(key, `${path}.key`);
  }

  /**
   * Compiles the filter of a measure.
   * @throws InvalidQuery
   */
  filter(query: object, path: string): Sql {
    this.filters.spend(JSON.stringify(query).length, path);
    return compile(query, this.columns);
  }

  /** Returns the condition of a selection, combined with `more`. */
  matching(wanted: SpanSelection, ...more: (Sql | null | undefined | false | '')[]): Sql {
    const { project_id, query, started_after, started_before, sources } = wanted;
    return allOf(
      spansIn(project_id),
      started_after && sql`c.started_at >= ${started_after}::timestamptz`,
      started_before && sql`c.started_at < ${started_before}::timestamptz`,
      isOneOf(sql`c.source`, sources),
      query && compile(query, this.columns),
      ...more,
    );
  }

  /** The FROM clause. Read it last: it extracts only the attributes that were named before. */
  get from(): Sql {
    if (this.read.size === 0) return this.calls;
    const names = [...this.read].map((name) => sql`${identifier(name)} text`);
    return sql`${this.calls} CROSS JOIN LATERAL json_to_record(
      CASE WHEN c.is_opaque THEN skein_safe_json(c.attributes) ELSE c.attributes END) AS a (${join(names)})`;
  }
}
