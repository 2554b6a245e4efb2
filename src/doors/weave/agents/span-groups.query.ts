// SQL: sums over groups of spans.
import { ownUsageRows } from '../../../tracing/usage/own-usage.query.js';
import {
  byCodePoint,
  InvalidQuery,
  type Operand,
  type Sort,
  toNumber,
  wireTime,
} from '../../../platform/query/columns.js';
import { allOf, identifier, join, sql, type Sql } from '../../../platform/query/sql.js';
import {
  aggregate,
  jsonArray,
  RowValues,
  selectList,
  type StatisticsField,
} from '../../../tracing/statistics/statistics.query.js';
import { LATENCY_MS } from '../../../tracing/visible-calls.js';
import type { GroupFilterDto, GroupRefDto, MeasureDto } from './agents.dto.js';
import { CONVERSATION, SpanSource, type SpanSelection } from './span-source.js';

/** A value of those spans that match the filter. */
type SpanValue = Pick<MeasureDto, 'value' | 'value_type' | 'filter'>;

interface Grouping {
  group_by?: readonly GroupRefDto[] | null;
  group_filters?: readonly GroupFilterDto[] | null;
}

const operandText = ({ type, sql: value }: Operand): Sql =>
  type === 'time' ? wireTime(value) : sql`(${value})::text`;

/** Returns the value as a number that fits into float8, even in a sum, or NULL. */
const operandNumber = ({ type, sql: value }: Operand): Sql =>
  type === 'number'
    ? sql`(${value})::float8`
    : type === 'time'
      ? sql`extract(epoch FROM ${value})::float8`
      : sql`(CASE WHEN abs(${toNumber(sql`(${value})::text`)}) < 1e290 THEN ${toNumber(sql`(${value})::text`)} END)::float8`;

/** Characters of a key, and of a name in an answer. */
const MAX_KEY = 256;
const keyText = (value: Operand): Sql => sql`left(${operandText(value)}, ${MAX_KEY}::int)`;

/** Returns the keys of a span as texts. */
export const groupKeys = ({ group_by }: Grouping, source: SpanSource): Sql[] =>
  (group_by ?? []).map((ref, i) => keyText(source.value(ref, `group_by[${i}]`)));

/** The spans that a statement groups, and the values that it reads from each. */
export class GroupedSpans {
  readonly source = new SpanSource();
  readonly values = new RowValues();
  /** Names of the keys. */
  readonly keys: readonly Sql[];

  constructor(private readonly asked: Grouping) {
    this.keys = groupKeys(asked, this.source).map((key) => this.values.add(key));
  }

  /** @throws InvalidQuery for an unknown value, and when a form is used that the value does not have */
  field({ value, value_type, filter }: SpanValue, path: string): StatisticsField {
    const isCounted = filter ? this.source.filter(filter, `${path}.filter`) : null;
    const read = (one: Sql) => {
      const counted = isCounted ? sql`CASE WHEN ${isCounted} THEN ${one} END` : one;
      return () => this.values.add(counted);
    };
    const absent = (problem: string) => () => {
      throw new InvalidQuery(`${path}.value`, problem);
    };
    if (!value) {
      const required = absent('is required');
      return { number: required, text: required, counted: read(sql`1`) };
    }
    const operand = this.source.value(value, `${path}.value`);
    const text = read(operandText(operand));
    const time =
      operand.type === 'time'
        ? read(operand.sql)
        : value_type === 'datetime'
          ? absent('must name a time, such as started_at')
          : undefined;
    return { number: read(operandNumber(operand)), text, counted: text, time };
  }

  /** The HAVING clause. A group is kept if its measures are between bounds of their types. */
  get having(): Sql {
    const { group_filters } = this.asked;
    if (!group_filters?.length) return sql``;
    return sql`HAVING ${allOf(...group_filters.map((one, i) => this.condition(one, `group_filters[${i}]`)))}`;
  }

  private condition({ min, max, measure }: GroupFilterDto, path: string): Sql {
    const { aggregation } = measure;
    const field = this.field(measure, `${path}.measure`);
    const isTime = Boolean(field.time) && (aggregation === 'min' || aggregation === 'max');
    const value = aggregate(aggregation, field);
    const bound = (name: 'min' | 'max', limit: number | string, symbol: Sql) => {
      if ((typeof limit === 'string') !== isTime)
        throw new InvalidQuery(
          `${path}.${name}`,
          `must be a ${isTime ? 'date-time' : 'number'}, as its measure is`,
        );
      return isTime
        ? sql`(${value})::timestamptz ${symbol} ${limit}::timestamptz`
        : sql`(${value})::float8 ${symbol} ${limit}::float8`;
    };
    return allOf(
      min !== null && min !== undefined && bound('min', min, sql`>=`),
      max !== null && max !== undefined && bound('max', max, sql`<=`),
    );
  }
}

const sumOf = (name: string) => sql`coalesce(sum(${identifier(name)}), 0)::float8`;
const distinctNames = (name: string) =>
  sql`coalesce(to_json((array_agg(DISTINCT ${identifier(name)}) FILTER (WHERE ${identifier(name)} <> ''))[1:${MAX_NAMES}::int]), '[]')`;
/** Names of one kind in an answer. */
const MAX_NAMES = 100;

/** Sums of each group, computed from its spans `s`. Groups can be sorted by them. */
const GROUP_SUMS: Readonly<Record<string, Sql>> = {
  span_count: sql`count(*)::int`,
  invocation_count: sql`count(*) FILTER (WHERE s.operation = 'invoke_agent')::int`,
  error_count: sql`count(*) FILTER (WHERE s.is_error)::int`,
  conversation_count: sql`count(DISTINCT s.conversation)::int`,
  total_input_tokens: sumOf('input_tokens'),
  total_output_tokens: sumOf('completion_tokens'),
  total_reasoning_tokens: sumOf('reasoning'),
  total_cache_creation_input_tokens: sumOf('cache_creation_input_tokens'),
  total_cache_read_input_tokens: sumOf('cache_read_input_tokens'),
  total_duration_ms: sql`round(coalesce(sum(s.duration_ms), 0)::numeric)::float8`,
  first_seen: wireTime(sql`min(s.started_at)`),
  last_seen: wireTime(sql`max(s.started_at)`),
};
const GROUP_COLUMNS: Readonly<Record<string, Sql>> = {
  ...GROUP_SUMS,
  agent_names: distinctNames('agent_name'),
  agent_versions: distinctNames('agent_version'),
  provider_names: distinctNames('provider'),
  request_models: distinctNames('model'),
  conversation_names: distinctNames('conversation_name'),
};

export const GROUP_COLUMN_NAMES = Object.keys(GROUP_COLUMNS);

export interface SpanGroupsRequest extends SpanSelection, Grouping {
  group_by: readonly GroupRefDto[];
  measures?: readonly MeasureDto[] | null;
  sort_by?: readonly Sort[] | null;
  limit: number;
  offset: number;
}

export interface GroupRow {
  /** The values of the keys, as texts. */
  keys: (string | null)[];
  measures: (number | string | null)[];
  total_count: number;
  [member: string]: unknown;
}

export const aliasOf = ({ alias, key }: GroupRefDto) => alias ?? key;

/** Reads groups of spans, by default the largest first. */
export function groupsQuery(asked: SpanGroupsRequest, more: Sql | null): Sql<GroupRow> {
  const spans = new GroupedSpans(asked);
  const { source, values, keys } = spans;
  const measures = (asked.measures ?? []).map((one, i) =>
    aggregate(one.aggregation, spans.field(one, `measures[${i}]`)),
  );
  const { having } = spans;
  const field = (name: string) => keyText(source.field(name, ''));
  const extra = selectList({
    provider: field('provider_name'),
    model: field('request_model'),
    conversation_name: field('conversation_name'),
    reasoning: operandNumber(source.field('reasoning_tokens', '')),
  });
  const where = source.matching(asked, more);
  const order = [
    ...groupOrder(asked, keys),
    ...keys.map((key) => sql`${byCodePoint(key)} NULLS LAST`),
  ];
  const rows = sql`
    SELECT c.operation, c.exception IS NOT NULL AS is_error, ${CONVERSATION} AS conversation, c.started_at, c.agent_name, c.agent_version,
      ${LATENCY_MS} AS duration_ms, u.*, ${join([extra, ...values.selected])}
    FROM ${source.from} CROSS JOIN LATERAL (
      SELECT sum(u.input_tokens) AS input_tokens, sum(u.completion_tokens) AS completion_tokens,
        sum(u.cache_read_input_tokens) AS cache_read_input_tokens, sum(u.cache_creation_input_tokens) AS cache_creation_input_tokens
      FROM ${ownUsageRows} u) u
    WHERE ${where}`;
  const named = measures.map((measure, i) => sql`${measure} AS ${identifier(`m${i}`)}`);
  return sql`
    SELECT ${jsonArray(keys)} AS keys, ${jsonArray(measures.map((_, i) => identifier(`m${i}`)))} AS measures,
      ${join(GROUP_COLUMN_NAMES.map(identifier))}, count(*) OVER ()::int AS total_count
    FROM (
      SELECT ${join([...keys, ...named, selectList(GROUP_COLUMNS)])} FROM (${rows}) s
      GROUP BY ${join(keys)} ${having}) g
    ORDER BY ${join(order)} LIMIT ${asked.limit}::bigint OFFSET ${asked.offset}::bigint`;
}

function groupOrder(
  { group_by, measures, sort_by }: SpanGroupsRequest,
  keys: readonly Sql[],
): Sql[] {
  const sorts = sort_by?.length ? sort_by : [{ field: 'span_count', direction: 'desc' as const }];
  return sorts.map(({ field, direction }, i) => {
    const key = group_by.findIndex((ref) => aliasOf(ref) === field);
    const measure = (measures ?? []).findIndex(({ alias }) => alias === field);
    if (key < 0 && measure < 0 && !Object.hasOwn(GROUP_SUMS, field))
      throw new InvalidQuery(`sort_by[${i}].field`, 'names no key, measure or sum of the groups');
    const name = keys[key] ?? identifier(measure >= 0 ? `m${measure}` : field);
    return sql`${name} ${direction === 'desc' ? sql`DESC` : sql`ASC`} NULLS LAST`;
  });
}
