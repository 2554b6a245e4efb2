import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { ModelAlias } from './model-alias.entity.js';

/** Where the aliases of models stand. */
@Injectable()
export class Aliases {
  constructor(private readonly database: Database) {}

  /** The step that an alias names; null when it names none. */
  async step(projectId: string, modelId: string, alias: string): Promise<number | null> {
    const where = { projectId, modelId, alias };
    const found = await this.database.repository(ModelAlias).findOneBy(where);
    return found?.step ?? null;
  }
}
