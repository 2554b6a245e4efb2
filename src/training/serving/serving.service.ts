import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { Database } from '../../platform/database/database.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { MODELS } from '../models/model.entity.js';
import { ModelsService } from '../models/models.service.js';
import { noSuch, page } from '../pages.js';
import type { ServableQueryDto, ServedDto, ServingAnswerDto, ServingDto } from './serving.dto.js';
import {
  expiredDelete,
  type Listed,
  listedQuery,
  nameTakenQuery,
  servablePage,
  type Served,
  servedQuery,
  servingDelete,
  servingUpsert,
} from './serving.query.js';

/** Which provider serves which checkpoint, by the word of the servers. A word counts until it expires. */
@Injectable()
export class ServingService {
  @Inject(CONFIG) private readonly config!: Config;

  constructor(
    private readonly database: Database,
    private readonly models: ModelsService,
  ) {}

  /** Notes that a checkpoint is served from now on. */
  async begin(serving: ServingDto, caller: Caller): Promise<ServingAnswerDto> {
    const { projectId } = await this.models.find(serving.model_id, caller);
    this.assertOwnName(serving);
    const [taken] = await this.database.query(nameTakenQuery(projectId, serving));
    if (taken)
      throw new ApiError(
        'conflict',
        'the provider serves a checkpoint of another project under this upstream_model',
      );
    await this.database.write(expiredDelete(projectId, serving.model_id));
    const [row] = await this.database.query(servingUpsert(projectId, serving));
    if (!row) throw noSuch('checkpoint');
    this.database.note(projectId, MODELS);
    return row;
  }

  async end(served: ServedDto, caller: Caller): Promise<void> {
    const { projectId } = await this.models.find(served.model_id, caller);
    const gone = await this.database.write(servingDelete(projectId, served));
    if (gone > 0) this.database.note(projectId, MODELS);
  }

  /** A page of the models that the key reaches, for servers. */
  async servable(query: ServableQueryDto, caller: Caller): Promise<string> {
    return page(await this.database.query(servablePage(query, caller)), query.limit);
  }

  /** Who serves a model: a step, or all steps, the newest first. Null where the project has no such model. */
  async find(projectId: string, name: string, step: number | null): Promise<Served[] | null> {
    const rows = await this.database.query(servedQuery(projectId, name, step));
    return rows.length === 0 ? null : rows;
  }

  /** What is served, of a project or of all that the key reaches. */
  list(caller: Caller, projectId: string | undefined, limit: number): Promise<Listed[]> {
    return this.database.query(listedQuery(caller, projectId, limit));
  }

  /** The provider is the operator's, and its name for the checkpoint is none that every key may ask for. */
  private assertOwnName({ provider: name, upstream_model: model }: ServingDto): void {
    const { gatewayProviders } = this.config;
    const provider = gatewayProviders.find((one) => one.name === name);
    if (!provider)
      throw invalidRequest([
        { path: 'provider', message: 'must be the name of a provider in GATEWAY_PROVIDERS' },
      ]);
    const isOpen = provider.models.some((pattern) =>
      pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern,
    );
    if (isOpen)
      throw invalidRequest([
        {
          path: 'upstream_model',
          message: `must not be one of the models that GATEWAY_PROVIDERS opens to every key at ${name}`,
        },
      ]);
  }
}
