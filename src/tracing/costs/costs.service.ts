import { setImmediate } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { addEvent, deletionAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { Decimal, printDecimals } from '../../platform/json/decimal.js';
import { ApiError, assertNone, invalidRequest, type Violation } from '../../platform/errors.js';
import { isId } from '../../platform/http/dto.js';
import { memberSpans, valueAt } from '../../platform/json/json-text.js';
import { validate } from '../../platform/http/validation.js';
import { Database } from '../../platform/database/database.js';
import {
  CostDto,
  type CostExplainDto,
  type CostsCreateDto,
  type CostsCreatedDto,
  type CostsPurgeDto,
  type CostsQueryDto,
} from './costs.dto.js';
import {
  bookQuery,
  changesQuery,
  type CostRow,
  costsQuery,
  insertQuery,
  purgeQuery,
  usageQuery,
} from './costs.query.js';
import { explanation } from './cost-explanation.js';
import {
  grandTotal,
  type Priceable,
  pricedModels,
  type PricedUsage,
  priceUsage,
} from '../pricing/price.js';
import { type PriceName, PRICE_NAMES } from '../pricing/price-kinds.js';
import { PriceBook } from '../pricing/price-book.js';
import { storedUsage } from '../usage/stored-usage.js';
import { storable } from '../../platform/query/columns.js';
import { COSTS } from './cost.entity.js';

const COST_PURGE = deletionAction('cost.purge');

const MAX_MODELS = 1000;
/** Price changes of a project inside one window of statistics. */
const MAX_CHANGES = 10_000;
/** Decimal places of a price. */
const MAX_SCALE = 40;
/** Characters of a price. Parsing a number of millions of digits takes minutes. */
const MAX_SPELLING = 100;

interface CallUsage extends Priceable {
  id: string;
  op_name: string;
}

@Injectable()
export class CostsService {
  constructor(private readonly database: Database) {}

  /** Stores price records. `text` is the request body as it was sent, from which the digits of prices are read. */
  async create({ project_id, costs }: CostsCreateDto, text: string): Promise<CostsCreatedDto> {
    const rows = costRows(costs, valueAt(text, 'costs'));
    await this.database.query(insertQuery(project_id, rows));
    this.database.changes.note(project_id, COSTS);
    return { ids: rows.map(({ id, llm_id }) => [id, llm_id]) };
  }

  query(request: CostsQueryDto): Promise<Readable> {
    return this.database.stream(costsQuery(request));
  }

  async purge(request: CostsPurgeDto, by: Caller): Promise<void> {
    await this.database.transaction({ long: 'bulk' }, async () => {
      const [row] = await this.database.query(purgeQuery(request));
      const { num_purged } = row!;
      this.database.changes.note(request.project_id, COSTS);
      if (num_purged > 0)
        await addEvent(this.database, {
          action: COST_PURGE,
          by,
          projectId: request.project_id,
          detail: { num_purged },
        });
    });
  }

  /** Explains the costs of calls, as JSON text. */
  async explain({ project_id, call_ids }: CostExplainDto): Promise<string> {
    const ids = [...new Set(call_ids)];
    const found = new Map<string, string>();
    // One row at a time: the usage of a call may be as large as a request body.
    const rows = await this.database.stream(usageQuery(project_id, ids), { maxBatch: 1 });
    for await (const [json] of rows as AsyncIterable<string[]>) {
      const row = JSON.parse(json!) as CallUsage;
      found.set(row.id, explanationJson(row));
      await setImmediate(); // explaining a call may take long, and other requests wait
    }
    const calls = ids.flatMap((id) => found.get(id) ?? []);
    const notFound = ids.filter((id) => !found.has(id));
    return `{"calls":[${calls.join(',')}],"not_found":${JSON.stringify(notFound)}}`;
  }

  /**
   * Returns the instants of a window at which prices of the project change, the earliest first, in microseconds.
   * @throws ApiError `invalid_request` for more than `MAX_CHANGES`
   */
  async changes(projectId: string, start: string, end: string): Promise<string[]> {
    const rows = await this.database.query(
      changesQuery(projectId, { start, end, limit: MAX_CHANGES + 1 }),
    );
    if (rows.length > MAX_CHANGES)
      throw new ApiError(
        'invalid_request',
        `prices change over ${MAX_CHANGES} times between start and end: ask for less time`,
      );
    return rows.map(({ at }) => at);
  }

  /** Reads the prices of models for a window. Its n-th segment begins at the n-th of `changes`. */
  async priceBook(
    projectId: string,
    llmIds: readonly string[],
    { changes, end }: { changes: readonly string[]; end: string },
  ): Promise<PriceBook> {
    return new PriceBook(await this.database.query(bookQuery(projectId, llmIds, { changes, end })));
  }

  /**
   * Returns the least cost of a `usage` in US dollars now, or zero without a price. The higher one of the project's
   * record and the built-in price counts. Otherwise, a user who sets prices of a project could make usage free that
   * others pay for.
   */
  async leastDollars(projectId: string, usage: object): Promise<Decimal> {
    const models = pricedModels(storedUsage(usage), false);
    const names = models.map(({ llmId }) => storable(llmId));
    const started_at = new Date().toISOString();
    const rows = await this.database.query(
      bookQuery(projectId, names, { changes: [], end: started_at }),
    );
    const records = Object.fromEntries(rows.map((row) => [row.llm_id, row]));
    return models
      .map((model) => {
        const [own, builtin] = [records, null].map((each) =>
          dollars(priceUsage(model, { records: each, started_at })),
        ) as [Decimal, Decimal];
        return Number(own) < Number(builtin) ? builtin : own;
      })
      .reduce((sum, each) => sum.plus(each), Decimal.zero);
  }
}

const dollars = (usage: PricedUsage): Decimal =>
  (usage.price?.prompt_token_cost_unit === 'USD' ? grandTotal(usage) : null) ?? Decimal.zero;

function explanationJson(call: CallUsage): string {
  const { id, op_name, started_at } = call;
  const models = pricedModels(call.usage, call.counts_gross).map((model) =>
    explanation(priceUsage(model, call), started_at),
  );
  return printDecimals({ id, op_name, started_at, models });
}

/**
 * Builds the rows of a request, each validated by itself.
 * @throws ApiError `invalid_request`
 */
function costRows(costs: Record<string, CostDto>, text: string): CostRow[] {
  const violations: Violation[] = [];
  const models = memberSpans(text, 0);
  if (models.size === 0 || models.size > MAX_MODELS)
    throw invalidRequest([{ path: 'costs', message: `must hold 1 to ${MAX_MODELS} models` }]);
  const rows = [...models].map(([llmId, span]) => {
    const cost = costs[llmId]!;
    const path = `costs.${llmId.slice(0, 64)}`;
    if (!isId(llmId)) violations.push({ path, message: 'is not the name of a model' });
    violations.push(...validate(CostDto, cost, path).violations);
    if (violations.length > 0) return null;
    const row = costRow(llmId, cost, text.slice(...span));
    for (const name of PRICE_NAMES) {
      const message = row[name] && priceProblem(row[name]);
      if (message) violations.push({ path: `${path}.${name}`, message });
    }
    return row;
  });
  assertNone(violations.slice(0, 20));
  return rows as CostRow[];
}

function priceProblem(digits: string): string | null {
  if (digits.length > MAX_SPELLING) return `must not be spelled in over ${MAX_SPELLING} characters`;
  return Decimal.parse(digits).places > MAX_SCALE
    ? `must not have more than ${MAX_SCALE} digits behind the point`
    : null;
}

function costRow(llmId: string, cost: CostDto, text: string): CostRow {
  const members = memberSpans(text, 0);
  const digits = (name: PriceName) =>
    typeof cost[name] === 'number' ? text.slice(...members.get(name)!) : null;
  return {
    id: uuidv7(),
    llm_id: llmId,
    effective_date: cost.effective_date ?? null,
    provider_id: cost.provider_id ?? null,
    ...(Object.fromEntries(PRICE_NAMES.map((name) => [name, digits(name)])) as Record<
      PriceName,
      string | null
    >),
    prompt_token_cost_unit: cost.prompt_token_cost_unit ?? null,
    completion_token_cost_unit: cost.completion_token_cost_unit ?? null,
  };
}
