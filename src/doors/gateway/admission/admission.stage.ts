import { Injectable } from '@nestjs/common';
import type { Context } from '../../../platform/http/context.js';
import type { ModelRequest } from '../gateway-exchange.js';
import { assertOneModel } from '../gateway-request.js';
import { BudgetsService } from './budgets.service.js';
import { ConcurrencyService } from './concurrency.service.js';
import { ModelNamesService, type ModelTarget } from './model-names.service.js';

/** Finds the provider of a request, and waits until the limits of its key allow it. */
@Injectable()
export class AdmissionStage {
  constructor(
    private readonly names: ModelNamesService,
    private readonly concurrency: ConcurrencyService,
    private readonly budgets: BudgetsService,
  ) {}

  /**
   * Runs `work`, which counts as one request under way.
   * @throws ApiError when the request is not admitted
   */
  async run<T>(
    { body, callContext, target: named }: ModelRequest,
    { caller, signal }: Context,
    work: (target: ModelTarget) => Promise<T>,
  ): Promise<T> {
    assertOneModel(body);
    const target = named ?? (await this.names.find(body.model, callContext.projectId, caller));
    return this.concurrency.run(caller.owner, signal, async () => {
      await this.budgets.admit(caller);
      return work(target);
    });
  }
}
