import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/auth/caller.js';
import { CONFIG, type Config } from '../../../platform/config/config.js';
import { Database } from '../../../platform/database/database.js';
import { Schedule } from '../../../platform/database/schedule.js';
import { ApiError } from '../../../platform/errors.js';
import { CostsService } from '../../../tracing/costs/costs.service.js';
import { costUpsert, oldUsesDelete, useQuery, useUpsert } from './budgets.query.js';

const DAY_MS = 86_400_000;

/**
 * Limits what each key may request from models in a day (UTC). All keys of a person count as one key. Processes share
 * the counts, so the number of requests never exceeds the limit. Costs are known only after an answer: requests that
 * are running when a key reaches its limit still finish.
 */
@Injectable()
export class BudgetsService {
  private readonly limits: { requests: number; cost: number };

  constructor(
    private readonly database: Database,
    private readonly costs: CostsService,
    @Inject(CONFIG) { gatewayRequestsPerDay, gatewayCostPerDay }: Config,
    schedule: Schedule,
  ) {
    this.limits = { requests: gatewayRequestsPerDay, cost: gatewayCostPerDay };
    schedule.every(DAY_MS, 'old uses of the gateway', async () => {
      await this.database.query(oldUsesDelete());
    });
  }

  private get areOn(): boolean {
    return this.limits.requests > 0 || this.limits.cost > 0;
  }

  /**
   * Counts a request.
   * @throws ApiError `rate_limited` until the next day
   */
  async admit({ holderId }: Caller): Promise<void> {
    if (!this.areOn) return;
    const [counted] = await this.database.query(useUpsert(holderId, this.limits));
    if (counted) return;
    const [used] = await this.database.query(useQuery(holderId));
    const { requests, cost } = this.limits;
    const isFull = requests > 0 && Number(used?.requests) >= requests;
    throw new ApiError(
      'rate_limited',
      isFull
        ? `the key is limited to ${requests} requests to models a day`
        : `the key is limited to ${cost} US dollars of models a day`,
      {
        headers: { 'Retry-After': String(used?.rest ?? 1) },
        extra: { openai: 'insufficient_quota' },
      },
    );
  }

  /** Adds the costs of a usage that is keyed by model name, recorded or not. Models without a price cost nothing. */
  async charge({ holderId }: Caller, projectId: string, usage: object): Promise<void> {
    if (this.limits.cost === 0) return;
    const cost = await this.costs.leastDollars(projectId, usage);
    await this.database.query(costUpsert(holderId, String(cost)));
  }
}
