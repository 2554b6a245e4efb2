import { groupBy } from '../../../platform/query/grouping.js';
import { Injectable } from '@nestjs/common';
import { ceilToMillisecond, parseDate } from '../../../platform/http/dto.js';
import { printDecimals } from '../../../platform/json/decimal.js';
import { mapYielding, EventLoopTurn } from '../../../platform/time/event-loop-turn.js';
import { CostsService } from '../../costs/costs.service.js';
import type { PriceBook } from '../../pricing/price-book.js';
import { Database } from '../../../platform/database/database.js';
import { allOf, isOneOf, sql } from '../../../platform/query/sql.js';
import {
  isWithin,
  microseconds,
  readWindow,
  TimeBuckets,
  type TimeSpan,
  windowFrame,
} from '../../statistics/time-buckets.js';
import type { Percentile } from '../../statistics/statistics.query.js';
import { PRODUCTION } from '../../conventions/call-source.js';
import { productionFilter } from '../../production-filter.js';
import type { CallsFilterDto } from '../calls.dto.js';
import { CallConditions } from '../read/call-conditions.service.js';
import { isMatch } from '../read/calls.query.js';
import { namedSlots, SLOT_MS, TIERS } from './call-slots.query.js';
import { callBuckets, rowReach, usageBuckets } from './call-stats.buckets.js';
import type { CallMetric, CallStatsDto, UsageMetric } from './call-stats.dto.js';
import {
  boundedRowsQuery,
  type CallBucket,
  callRows,
  latencyLists,
  markedNames,
  markedSlots,
  MAX_ROWS,
  type OrderedRows,
  type PriceRow,
  type StatsReading,
  type StatsSelection,
  spreadRows,
  type UsageRow,
  usageRows,
  SNAPSHOT,
} from './call-stats.query.js';
import { mostBuckets, tooLarge, type MetricStatistics, readMetrics } from './call-stats.values.js';
import { percentile } from './latencies.js';
import { splitWindow, slotsWithin } from './slot-windows.js';

/** Maximum number of changed slots in a window. With more, all calls of the window are read. */
const MAX_MARKED = 5000;
/** Maximum number of parents and of responses that marks name. With as many, all calls of the window are read. */
const MAX_NAMED = 20_000;
const MAX_LATENCIES = 2_000_000;
/** In a bucket with more latencies, PostgreSQL sorts them. */
const MAX_OF_BUCKET = 4_000_000;

interface StatsQuery extends StatsSelection {
  calls: MetricStatistics<CallMetric>[];
  usage: MetricStatistics<UsageMetric>[];
  /**
   * True if stored statistics may be used: the request matches all calls of production, and its buckets are whole
   * slots.
   */
  isPlain: boolean;
}

/**
 * Computes statistics of the calls of a window, in buckets. Where possible it reads `call_slots`. It reads calls for
 * the edges of the window and for slots that have changed since they were stored. With a filter, a query or a group it
 * reads all calls. Its statements share one snapshot, so they see calls, marks and stored statistics at the same
 * moment.
 */
@Injectable()
export class CallStatsService {
  constructor(
    private readonly database: Database,
    private readonly costs: CostsService,
    private readonly conditions: CallConditions,
  ) {}

  /** Returns the answer as JSON text, so that sums keep all their digits. */
  async stats(request: CallStatsDto): Promise<string> {
    const window = readWindow(request);
    const { query } = request;
    const filter = productionFilter(request.filter, query);
    const body = Object.assign({}, request, { filter });
    const condition = await this.conditions.compiled(body, (ahead) => isMatch(body, ahead));
    const groups = body.group_by ?? [];
    // everything that takes long needs a slot; one key has few slots
    const { calls, usage } = await this.database.transaction({ long: 'read' }, async () => {
      await this.database.query(SNAPSHOT);
      const buckets = await TimeBuckets.of(window);
      return this.read({
        projectId: body.project_id,
        buckets,
        condition,
        groups,
        sources: isOneOf(sql`c.source`, filter.sources),
        isOfTraces: request.filter?.trace_roots_only === true,
        calls: readMetrics(body.call_metrics),
        usage: readMetrics(body.usage_metrics),
        isPlain:
          isAllProduction(filter) &&
          !query &&
          groups.length === 0 &&
          buckets.starts.every(isSlotStart),
      });
    });
    return `${printDecimals(windowFrame(window)).slice(0, -1)},"call_buckets":[${calls.join(',')}],"usage_buckets":[${usage.join(',')}]}`;
  }

  private async read(request: StatsQuery): Promise<{ calls: string[]; usage: string[] }> {
    const hasCosts = request.usage.some(({ metric }) => metric.endsWith('_cost'));
    const { projectId, buckets } = request;
    const changes = hasCosts
      ? await this.costs.changes(projectId, buckets.since, buckets.until)
      : [];
    const reading = await this.planReading(request, changes, [...TIERS]);
    return {
      calls: request.calls.length > 0 ? await this.callBuckets(request, reading) : [],
      usage: request.usage.length > 0 ? await this.usageBuckets(request, reading, hasCosts) : [],
    };
  }

  /** Decides which spans are read from the calls, and which from their stored statistics. */
  private async planReading(
    request: StatsQuery,
    changes: string[],
    tiers: number[],
  ): Promise<StatsReading> {
    const { projectId, buckets } = request;
    const all = { ...request, fresh: [buckets], stored: [], changes, tiers };
    const whole = slotsWithin(ceilToMillisecond(buckets.since), parseDate(buckets.until));
    if (!whole || !request.isPlain || tiers.length > TIERS.length) return all;
    const slots = await this.changedSlots(projectId, whole);
    for (const change of changes) {
      const slot = Math.floor(+parseDate(change) / SLOT_MS) * SLOT_MS;
      const isInside = slot >= whole.since && slot < whole.until;
      if (isInside && change !== microseconds(new Date(slot))) slots?.add(slot);
    }
    if (!slots || slots.size > MAX_MARKED) return all;
    return {
      ...all,
      ...splitWindow(
        buckets,
        whole,
        [...slots].toSorted((a, b) => a - b),
      ),
    };
  }

  /**
   * Returns the marked slots, and the slots of calls above the changed calls or with the same response. Null if there
   * are too many.
   */
  private async changedSlots(
    projectId: string,
    { since, until }: { since: number; until: number },
  ): Promise<Set<number> | null> {
    const inside = { since: iso(since), until: iso(until) };
    const marked = await this.database.query(markedSlots(projectId, inside, MAX_MARKED + 1));
    const slots = new Set(marked.map(({ ms }) => ms));
    const [names] = await this.database.query(markedNames(projectId, MAX_NAMED));
    const { parents, responses } = names!;
    if (parents.length >= MAX_NAMED || responses.length >= MAX_NAMED) return null;
    if (parents.length + responses.length === 0) return slots;
    for (const { ms } of await this.database.query(namedSlots(projectId, names!)))
      if (ms >= since && ms < until) slots.add(ms);
    return slots;
  }

  private async callBuckets(request: StatsQuery, reading: StatsReading): Promise<string[]> {
    const limit = mostBuckets(request.calls);
    if (request.groups.length === 0 && request.buckets.starts.length > limit) throw tooLarge();
    const percentiles =
      request.calls.find(({ metric }) => metric === 'latency_ms')?.percentiles ?? [];
    const isStored = reading.stored.length > 0;
    const rows = await this.rows(callRows(reading, isStored ? [] : percentiles), limit);
    if (isStored && percentiles.length > 0) await this.addPercentiles(reading, rows, percentiles);
    return callBuckets(request, rows);
  }

  /** Adds percentiles to the rows. Reads the latencies of as many buckets at a time as may be held. */
  private async addPercentiles(
    reading: StatsReading,
    rows: CallBucket[],
    percentiles: readonly Percentile[],
  ): Promise<void> {
    const filled = rows.filter(({ ended_count }) => ended_count > 0);
    for (let i = 0; i < filled.length;) {
      let [j, held] = [i + 1, filled[i]!.ended_count];
      while (j < filled.length && held + filled[j]!.ended_count <= MAX_LATENCIES)
        held += filled[j++]!.ended_count;
      const [first, last] = [filled[i]!.bucket, filled[j - 1]!.bucket];
      const span = {
        since: reading.buckets.bounds[first]!,
        until: reading.buckets.bounds[last + 1] ?? 'infinity',
      };
      if (held > MAX_OF_BUCKET) await this.sortPercentiles(reading, filled[i]!, span, percentiles);
      else await this.selectPercentiles(reading, filled.slice(i, j), span, percentiles);
      i = j;
    }
  }

  private async selectPercentiles(
    reading: StatsReading,
    rows: CallBucket[],
    span: TimeSpan,
    percentiles: readonly Percentile[],
  ): Promise<void> {
    const found = await this.database.query(latencyLists(reading, span));
    const byBucket = groupBy(found, ({ bucket }) => bucket);
    const turn = new EventLoopTurn();
    for (const row of rows) {
      const lists = (byBucket.get(row.bucket) ?? []).map(({ latencies }) => latencies);
      row.percentiles = [];
      for (const { fraction } of percentiles) {
        if (turn.isOver) await turn.next();
        const us = percentile(lists, fraction);
        row.percentiles.push(us && us / 1000);
      }
    }
  }

  private async sortPercentiles(
    reading: StatsReading,
    row: CallBucket,
    span: TimeSpan,
    percentiles: readonly Percentile[],
  ): Promise<void> {
    const direct = {
      ...reading,
      fresh: [...reading.fresh, ...reading.stored],
      stored: [],
      condition: allOf(reading.condition, isWithin(sql`c.started_at`, span)),
    };
    const [sorted] = await this.rows(callRows(direct, percentiles), 1);
    row.percentiles = sorted!.percentiles!;
  }

  private async usageBuckets(
    request: StatsQuery,
    given: StatsReading,
    hasCosts: boolean,
  ): Promise<string[]> {
    let reading = given;
    let rows = await this.rows(usageRows(reading));
    const prices = hasCosts ? await this.prices(request, reading, rows) : null;
    if (prices?.splits) {
      reading = await this.planReading(request, prices.splits.changes, prices.splits.tiers);
      rows = await this.rows(usageRows(reading));
      prices.book = await this.openBook(request, reading, rows);
    }
    const spread = request.usage.filter(needsSpread);
    const spreads =
      spread.length > 0
        ? await this.rows(
            spreadRows(
              { ...reading, fresh: [request.buckets], stored: [] },
              spread,
              prices ? await priceRows(prices.book, rows) : [],
            ),
          )
        : [];
    return usageBuckets(request, { rows, spreads, book: prices?.book ?? null });
  }

  private openBook(
    { projectId, buckets }: StatsQuery,
    { changes }: StatsReading,
    rows: readonly UsageRow[],
  ) {
    const models = [...new Set(rows.map(({ llm_id }) => llm_id))];
    return this.costs.priceBook(projectId, models, { changes, end: buckets.until });
  }

  /**
   * Returns the prices of models. `splits` are further times and tiers at which calls must be separated, because
   * built-in prices change at them.
   */
  private async prices(request: StatsQuery, reading: StatsReading, rows: readonly UsageRow[]) {
    const book = await this.openBook(request, reading, rows);
    const changes = new Set(reading.changes);
    const tiers = new Set(reading.tiers);
    await mapYielding(mergeReaches(rows), (reach) => {
      const splits = book.findSplits(reach);
      for (const at of splits.instants) changes.add(microseconds(at));
      for (const tier of splits.tiers) tiers.add(tier);
    });
    const isSplit = changes.size > reading.changes.length || tiers.size > reading.tiers.length;
    const splits = isSplit
      ? { changes: [...changes].toSorted(), tiers: [...tiers].toSorted((a, b) => a - b) }
      : null;
    return { book, splits };
  }

  /**
   * Runs the query.
   * @throws ApiError `too_large` if it has too many rows
   */
  private async rows<Row>(query: OrderedRows<Row>, limit = MAX_ROWS): Promise<Row[]> {
    const found = await this.database.query(boundedRowsQuery(query, limit));
    if (found[0]?.is_too_large) throw tooLarge();
    return found;
  }
}

const iso = (ms: number) => new Date(ms).toISOString();

const isSlotStart = (at: Date) => +at % SLOT_MS === 0;

/** Returns true if the filter matches exactly the calls of stored statistics: all calls of production. */
const isAllProduction = ({ sources, ...others }: CallsFilterDto) =>
  sources?.length === 1 && sources[0] === PRODUCTION && !hasRestriction(others);

/** Returns true if the filter restricts the calls. An empty list restricts only threads and turns. */
const hasRestriction = (filter: object | null | undefined) =>
  Object.entries(filter ?? {}).some(([name, value]) =>
    Array.isArray(value) ? value.length > 0 || ['thread_ids', 'turn_ids'].includes(name) : value,
  );

const needsSpread = ({ metric, aggregations, percentiles }: MetricStatistics<UsageMetric>) =>
  percentiles.length > 0 ||
  aggregations.some(
    (name) => name !== 'sum' && (metric.endsWith('_cost') || !['avg', 'count'].includes(name)),
  );

/** Merges rows with the same model, segment and tier. Returns their ranges of starts and of input tokens. */
function mergeReaches(rows: readonly UsageRow[]) {
  const reaches = new Map<string, ReturnType<typeof rowReach> & { tier: number }>();
  for (const row of rows) {
    const key = `${row.segment}/${row.tier}/${row.llm_id}`;
    const reach = { ...rowReach(row), tier: row.tier };
    const known = reaches.get(key);
    if (!known) reaches.set(key, reach);
    else {
      if (reach.first < known.first) known.first = reach.first;
      if (reach.last > known.last) known.last = reach.last;
      known.minInput = Math.min(known.minInput, reach.minInput);
      known.maxInput = Math.max(known.maxInput, reach.maxInput);
    }
  }
  return [...reaches.values()];
}

const priceRows = (book: PriceBook, rows: readonly UsageRow[]): Promise<PriceRow[]> =>
  mapYielding(mergeReaches(rows), (reach) => {
    const price = book.findPrice(reach);
    return {
      llm_id: price ? reach.llmId : null,
      segment: reach.segment,
      tier: reach.tier,
      prices: [
        price?.prompt_token_cost,
        price?.completion_token_cost,
        price?.cache_read_input_token_cost,
        price?.cache_creation_input_token_cost,
      ].map((cost) => cost?.toString() ?? null),
      details: price?.details
        ? `{${price.details.map((cost) => cost?.toString() ?? 'NULL').join(',')}}`
        : null,
      hasOneUnit: price?.prompt_token_cost_unit === price?.completion_token_cost_unit,
    };
  });
