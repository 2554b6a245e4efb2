import { Injectable } from '@nestjs/common';
import { printDecimals } from '../../../platform/json/decimal.js';
import { ApiError } from '../../../platform/errors.js';
import {
  type CountedUsage,
  countedUsage,
  type Priceable,
  type Spending,
  spendingOn,
} from '../../pricing/price.js';
import { Database } from '../../../platform/database/database.js';
import type { Sql } from '../../../platform/query/sql.js';
import { CallConditions } from '../read/call-conditions.service.js';
import {
  type CallsUsageDto,
  MAX_USAGE_CALLS,
  type TraceUsageDto,
  USUAL_CALLS,
} from './call-usage.dto.js';
import type { StartedCall } from '../call.entity.js';
import {
  descendantUsage,
  matchingUsage,
  MAX_USAGE_BYTES,
  type USAGE_COLUMNS,
} from './call-usage.query.js';
import { rollUpUsage, type UsageCall, countTokens, TooManyEntries } from './usage-rollup.js';

/** Maximum number of pairs of a call and a model in one answer. */
export const MAX_ENTRIES = 200_000;
/** The usage of each call has at most `MAX_USAGE_BYTES`. */
const CALLS_AT_ONCE = 32;

interface CallUsageRow extends Priceable, Pick<StartedCall, (typeof USAGE_COLUMNS)[number]> {
  ended_at: string | null;
  /** True if the span ran in one of the other calls and was not requested itself. */
  is_linked: boolean;
  is_running: boolean;
  is_large: boolean | null;
}

/** Computes the usage and costs of calls together with their descendants. */
@Injectable()
export class CallUsageService {
  constructor(
    private readonly database: Database,
    private readonly conditions: CallConditions,
  ) {}

  /**
   * Returns the usage of the named calls, as JSON text.
   * @throws ApiError `too_large`
   */
  ofCalls(request: CallsUsageDto): Promise<string> {
    return this.answer(request, descendantUsage(request, mostCalls(request) + 1), request.call_ids);
  }

  /**
   * Returns the usage of matching calls, as JSON text.
   * @throws ApiError `too_large`
   */
  async ofMatching(request: TraceUsageDto): Promise<string> {
    const query = await this.conditions.compiled(request, (ahead) =>
      matchingUsage(request, mostCalls(request) + 1, ahead),
    );
    return this.answer(request, query);
  }

  private async answer(
    request: TraceUsageDto | CallsUsageDto,
    query: Sql,
    ids?: readonly string[],
  ): Promise<string> {
    const { calls, running, linked } = await this.read(query, mostCalls(request));
    const totals = await rollUpUsage(calls, MAX_ENTRIES).catch((error: unknown) => {
      throw error instanceof TooManyEntries ? tooManyEntries() : error;
    });
    const shown = ids ?? [...totals.keys()].filter((id) => !linked.has(id));
    const usage = [...new Set(shown)].map((id) => {
      const models = [...(totals.get(id) ?? [])].map(([llmId, spending]) => [
        llmId,
        usageEntry(spending, request.include_costs === true),
      ]);
      return [id, Object.fromEntries(models)];
    });
    return printDecimals({ call_usage: Object.fromEntries(usage), unfinished_call_ids: running });
  }

  private async read(query: Sql, most: number) {
    const calls: UsageCall[] = [];
    const running: string[] = [];
    const linked = new Set<string>();
    let entries = 0;
    const batches = await this.database.stream(query, { maxBatch: CALLS_AT_ONCE });
    for await (const batch of batches as AsyncIterable<string[]>)
      for (const json of batch) {
        const row = JSON.parse(json) as CallUsageRow;
        if (row.is_large)
          throw new ApiError(
            'too_large',
            `the usage of the call ${row.id} is over the limit of ${MAX_USAGE_BYTES} bytes`,
          );
        const own = countedUsage(row);
        entries += own.size;
        const { id, parent_id: parentId, trace_id: traceId, response_id: responseId } = row;
        const { linked_call_id: linkedCallId, ended_at: endedAt } = row;
        const { records, started_at } = row;
        const spending = (model: CountedUsage) => spendingOn(model, { records, started_at });
        const startedAt = started_at;
        const places = { id, parentId, traceId, linkedCallId, responseId, startedAt, endedAt };
        calls.push({ ...places, own, spending });
        if (row.is_linked) linked.add(id);
        else if (row.is_running) running.push(row.id);
        if (calls.length > most)
          throw new ApiError(
            'too_large',
            `there are over ${most} calls to sum up: name fewer, or set limit, to at most ${MAX_USAGE_CALLS}`,
          );
        if (entries > MAX_ENTRIES) throw tooManyEntries();
      }
    return { calls, running, linked };
  }
}

const mostCalls = ({ limit }: TraceUsageDto | CallsUsageDto) =>
  Math.min(limit ?? USUAL_CALLS, MAX_USAGE_CALLS);

const tooManyEntries = () =>
  new ApiError(
    'too_large',
    `the calls and the models that each of them used, directly or below it, are over ${MAX_ENTRIES} pairs: ask for fewer calls`,
  );

function usageEntry(spending: Spending, hasCosts: boolean) {
  const { requests, tokens, costs } = spending;
  const totals = Object.entries(costs).map(([kind, cost]) => [`${kind}_total_cost`, cost]);
  return {
    requests,
    ...tokens,
    total_tokens: countTokens(spending),
    ...(hasCosts && Object.fromEntries(totals)),
  };
}
