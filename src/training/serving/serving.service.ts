import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { isOpenModel } from '../../platform/config/gateway-settings.js';
import { Database } from '../../platform/database/database.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { groupBy } from '../../platform/query/grouping.js';
import { MODELS } from '../models/model.entity.js';
import { ModelsService } from '../models/models.service.js';
import { noSuch, pageJson } from '../pages.js';
import type {
  ServableModelDto,
  ServableQueryDto,
  ServedDto,
  ServingAnswerDto,
  ServingDto,
} from './serving.dto.js';
import {
  expiredDelete,
  type ListedCheckpoint,
  listedQuery,
  nameLock,
  nameTakenQuery,
  newestSteps,
  servablePage,
  type ServedStep,
  servedQuery,
  servingDelete,
  servingUpsert,
  type StepSelector,
} from './serving.query.js';

/** Engines of providers that may serve checkpoints. */
const CHECKPOINT_ENGINES: readonly string[] = ['vllm', 'sglang'];

/** Records which provider serves which checkpoint. Servers report it, and a report counts until it expires. */
@Injectable()
export class ServingService {
  @Inject(CONFIG) private readonly config!: Config;

  constructor(
    private readonly database: Database,
    private readonly models: ModelsService,
  ) {}

  async begin(serving: ServingDto, caller: Caller): Promise<ServingAnswerDto> {
    const { projectId } = await this.models.find(serving.model_id, caller);
    this.assertServes(serving);
    const row = await this.database.transaction(async () => {
      await this.database.query(nameLock(serving));
      const [taken] = await this.database.query(nameTakenQuery(projectId, serving));
      if (taken)
        throw new ApiError(
          'conflict',
          'the provider serves a checkpoint of another project under this upstream_model',
        );
      await this.database.query(expiredDelete(projectId, serving.model_id));
      const [stored] = await this.database.query(servingUpsert(projectId, serving));
      return stored;
    });
    if (!row) throw noSuch('checkpoint');
    this.database.changes.note(projectId, MODELS);
    return { expires_at: row.expires_at.toISOString() };
  }

  async end(served: ServedDto, caller: Caller): Promise<void> {
    const { projectId } = await this.models.find(served.model_id, caller);
    const gone = await this.database.query(servingDelete(projectId, served));
    if (gone.length > 0) this.database.changes.note(projectId, MODELS);
  }

  async servable(query: ServableQueryDto, caller: Caller): Promise<string> {
    const models = await this.database.query(servablePage(query, caller));
    const steps = new Map<string, ServableModelDto['steps']>(models.map(({ id }) => [id, []]));
    for (const [projectId, own] of groupBy(models, ({ project_id }) => project_id)) {
      const ids = own.map(({ id }) => id);
      const rows = await this.database.query(newestSteps(projectId, ids));
      for (const { model_id, ...step } of rows) steps.get(model_id)!.push(step);
    }
    const items = models.map(({ project_id, id, name, base_model }) => {
      const [entity, project] = project_id.split('/') as [string, string];
      const model = { id, entity, project, name, base_model, steps: steps.get(id)! };
      return { id, json: JSON.stringify(model satisfies ServableModelDto) };
    });
    return pageJson(items, query.limit);
  }

  /** Returns the providers of a model, the newest step first. Null when the project has no such model. */
  async find(projectId: string, name: string, which: StepSelector): Promise<ServedStep[] | null> {
    const rows = await this.database.query(servedQuery(projectId, name, which));
    return rows.length === 0 ? null : rows;
  }

  list(caller: Caller, projectId: string | undefined, limit: number): Promise<ListedCheckpoint[]> {
    return this.database.query(listedQuery(caller, projectId, limit));
  }

  /**
   * Checks that the provider is an engine of the operator. Its name for a checkpoint must not be open to every key,
   * except for step 0, which is the base model.
   */
  private assertServes({ step, provider: name, upstream_model: model }: ServingDto): void {
    const { gatewayProviders } = this.config;
    const provider = gatewayProviders.find((one) => one.name === name);
    if (!provider || !CHECKPOINT_ENGINES.includes(provider.engine))
      throw invalidRequest([
        {
          path: 'provider',
          message: `must be the name of a provider in GATEWAY_PROVIDERS whose engine is ${CHECKPOINT_ENGINES.join(' or ')}`,
        },
      ]);
    if (isOpenModel(provider, model) && step > 0)
      throw invalidRequest([
        {
          path: 'upstream_model',
          message: `must not be one of the models that GATEWAY_PROVIDERS opens to every key at ${name}`,
        },
      ]);
  }
}
