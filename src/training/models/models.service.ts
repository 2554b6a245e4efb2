import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { eventInsert, auditAction } from '../../platform/audit/audit.query.js';
import type { Caller } from '../../platform/auth/caller.js';
import type { Context } from '../../platform/http/context.js';
import { ApiError, invalidRequest } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { STATEMENT_MS } from '../../platform/database/limits.js';
import { Checkpoint } from './checkpoint.entity.js';
import type {
  CheckpointsDeletedDto,
  CheckpointsQueryDto,
  ModelCreateDto,
  ModelDeletedDto,
  ModelDto,
  ModelsQueryDto,
} from './models.dto.js';
import {
  batchesDelete,
  checkpointsDelete,
  checkpointsPage,
  metricsMerge,
  modelById,
  modelByName,
  modelInsert,
  modelsPage,
} from './models.query.js';
import { idOf, noSuch, page } from '../pages.js';
import { QueueService } from '../jobs/queue.service.js';
import { type Upload, UploadsService } from '../trajectories/uploads.service.js';
import { modelLock, type ModelRow } from '../preview.query.js';
import { SPLIT } from '../trajectory-rules.js';
import { Model, MODELS } from './model.entity.js';

const MODELS_DELETE = auditAction('models.delete');
const CHECKPOINTS_DELETE = auditAction('checkpoints.delete');

/** Models, their checkpoints, and what is logged against them. */
@Injectable()
export class ModelsService {
  constructor(
    private readonly database: Database,
    private readonly uploads: UploadsService,
    private readonly queue: QueueService,
  ) {}

  async create(body: ModelCreateDto, caller: Caller): Promise<ModelDto> {
    const { project, name, base_model, return_existing } = body;
    const projectId = `${body.entity ?? entityOf(caller)}/${project}`;
    caller.assertReaches(projectId);
    return this.database.transaction(async () => {
      const [created] = await this.database.query(
        modelInsert({ project_id: projectId, id: uuidv7(), name, base_model }, caller.userName),
      );
      if (created) {
        const base = { projectId, modelId: created.id, step: 0, id: uuidv7() };
        await this.database.repository(Checkpoint).insert(base);
        this.database.note(projectId, MODELS);
        return modelDto(created);
      }
      const [existing] = await this.database.query(modelByName(projectId, name));
      if (existing && return_existing) return modelDto(existing);
      throw new ApiError(
        'conflict',
        `${projectId} has a model of this name: return_existing answers it`,
        {
          headers: { 'x-should-retry': 'false' },
        },
      );
    });
  }

  async list(query: ModelsQueryDto, caller: Caller): Promise<string> {
    if (query.entity && query.project) caller.assertReaches(`${query.entity}/${query.project}`);
    const rows = await this.database.query(modelsPage(query, caller));
    const items = rows.map((row) => ({ id: row.id, json: JSON.stringify(modelDto(row)) }));
    return page(items, query.limit);
  }

  /** @throws ApiError `not_found` for an unknown model and for one that the key does not reach. */
  async find(id: unknown, caller: Caller): Promise<ModelRow> {
    const [model] = await this.database.query(modelById(idOf(id, 'model'), caller));
    if (!model) throw noSuch('model');
    return model;
  }

  /** With its checkpoints and trajectories. Its jobs stay, and those that have not ended are cancelled. */
  async delete(id: string, caller: Caller): Promise<ModelDeletedDto> {
    const { project_id } = await this.find(id, caller);
    return this.database.long(async () => {
      await this.lock(project_id, id);
      await this.queue.cancelAllOf(project_id, id);
      const ofProject = { projectId: project_id };
      await this.database
        .repository(Model)
        .update({ ...ofProject, id }, { deletedAt: () => 'now()' });
      const { affected } = await this.database
        .repository(Checkpoint)
        .delete({ ...ofProject, modelId: id });
      const num_checkpoints = affected ?? 0;
      const batches = await this.database.query(batchesDelete(project_id, id));
      const ids = batches.map((batch) => batch.id);
      await this.uploads.forget(project_id, ids);
      const detail = { num_checkpoints, num_batches: batches.length };
      await this.database.query(
        eventInsert({
          action: MODELS_DELETE,
          by: caller,
          projectId: project_id,
          target: id,
          detail,
        }),
      );
      this.database.note(project_id, MODELS);
      return { model_id: id, deleted_checkpoints: num_checkpoints, deleted_run: false };
    }, STATEMENT_MS.bulk);
  }

  async checkpoints(id: string, query: CheckpointsQueryDto, caller: Caller): Promise<string> {
    const model = await this.find(id, caller);
    const items = await this.database.query(
      checkpointsPage(model, query, await this.stepAfter(model, query.after)),
    );
    return page(items, query.limit);
  }

  async deleteCheckpoints(
    id: string,
    steps: number[],
    caller: Caller,
  ): Promise<CheckpointsDeletedDto> {
    const { project_id } = await this.find(id, caller);
    const gone = await this.database.transaction(async () => {
      const deleted = await this.database.query(checkpointsDelete(project_id, id, steps));
      const detail = { steps: deleted.map(({ step }) => step) };
      if (deleted.length > 0) {
        this.database.note(project_id, MODELS);
        await this.database.query(
          eventInsert({
            action: CHECKPOINTS_DELETE,
            by: caller,
            projectId: project_id,
            target: id,
            detail,
          }),
        );
      }
      return new Set(detail.steps);
    });
    return {
      deleted_count: gone.size,
      not_found_steps: [...new Set(steps)].filter((step) => !gone.has(step)),
    };
  }

  /** Keeps the groups, and merges their metrics into the latest checkpoint. */
  async log(id: string, context: Context): Promise<object> {
    const { project_id: projectId } = await this.find(id, context.caller);
    return this.uploads.receive(
      context,
      async () => projectId,
      async (upload) => {
        const { members, hasGroups } = upload.reader;
        const split = checkedSplit(members.get('split')?.value);
        if (!hasGroups) throw groupsMissing();
        await this.lock(projectId, id);
        await this.keepLog(upload, { projectId, modelId: id, split });
        return {};
      },
    );
  }

  /** In the transaction of the caller, who has locked the model. */
  async keepLog(
    upload: Upload,
    { projectId, modelId, split }: { projectId: string; modelId: string; split: string },
  ): Promise<void> {
    const metrics = JSON.stringify(upload.reader.metrics.of(split));
    const [latest] = await this.database.query(metricsMerge(projectId, modelId, metrics));
    const { step } = latest!;
    await this.uploads.keep(upload, { projectId, modelId, split, jobId: null, step });
    this.database.note(projectId, MODELS);
  }

  /** For the rest of the transaction nothing is added to the model. */
  async lock(projectId: string, id: string): Promise<void> {
    const [model] = await this.database.query(modelLock(projectId, id));
    if (!model) throw noSuch('model');
  }

  private async stepAfter(model: ModelRow, after: string | undefined): Promise<number | null> {
    if (!after) return null;
    const found = await this.database
      .repository(Checkpoint)
      .findOneBy({ projectId: model.project_id, modelId: model.id, id: after });
    if (!found) throw invalidRequest([{ path: 'after', message: 'is no checkpoint of the model' }]);
    return found.step;
  }
}

export const groupsMissing = () =>
  invalidRequest([{ path: 'trajectory_groups', message: 'is required' }]);

function checkedSplit(value: unknown): string {
  if (typeof value === 'string' && SPLIT.test(value)) return value;
  const message =
    value === undefined ? 'is required' : 'must be 1 to 64 letters, digits, "_", "." or "-"';
  throw invalidRequest([{ path: 'split', message }]);
}

/** The one entity that the scopes of a key name. */
function entityOf({ ownEntity }: Caller): string {
  if (ownEntity !== null) return ownEntity;
  const message = 'is required, since neither the scopes of the key nor its user name one';
  throw invalidRequest([{ path: 'entity', message }]);
}

function modelDto({ project_id, id, name, base_model }: ModelRow): ModelDto {
  const [entity, project] = project_id.split('/') as [string, string];
  return { id, entity, project, name, base_model, run_id: null };
}
