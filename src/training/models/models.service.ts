import { Inject, Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { addEvent, deletionAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import type { Context } from '../../platform/http/context.js';
import { finalConflict, invalidRequest } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { MAX_INT } from '../../platform/http/dto.js';
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
  checkpointJson,
  checkpointsDelete,
  checkpointsDeleteAll,
  metricsMerge,
  checkpointsPage,
  type ModelIdentity,
  modelInsert,
  modelsPage,
} from './models.query.js';
import { assertFewMetrics } from '../metrics-limit.js';
import { checkedId, noSuch, pageJson } from '../pages.js';
import { type RangedStream } from '../byte-range.js';
import { CheckpointFilesService } from '../checkpoints/checkpoint-files.service.js';
import { Aliases } from '../promotion/aliases.service.js';
import { QueueService } from '../jobs/queue.service.js';
import { type TrajectoryUpload, UploadsService } from '../trajectories/uploads.service.js';
import { modelLock, type ModelKey } from '../preview.query.js';
import { SPLIT } from '../trajectory-rules.js';
import { Model, MODELS } from './model.entity.js';

const MODELS_DELETE = deletionAction('models.delete');
const CHECKPOINTS_DELETE = deletionAction('checkpoints.delete');

/** Creates, lists and deletes models and checkpoints, and stores logged trajectory groups. */
@Injectable()
export class ModelsService {
  @Inject(Aliases) private readonly aliases!: Aliases;

  constructor(
    private readonly database: Database,
    private readonly uploads: UploadsService,
    private readonly queue: QueueService,
    private readonly files: CheckpointFilesService,
  ) {}

  async create(body: ModelCreateDto, caller: Caller): Promise<ModelDto> {
    const { name, base_model, return_existing } = body;
    const projectId = newModelProject(body, caller);
    caller.assertReaches(projectId);
    const model = { projectId, id: uuidv7(), name, baseModel: base_model };
    return this.database.transaction(async () => {
      const [created] = await this.database.query(modelInsert(model, caller.userName));
      if (created) {
        const base = { projectId, modelId: model.id, step: 0, id: uuidv7() };
        await this.database.repository(Checkpoint).insert(base);
        this.database.changes.note(projectId, MODELS);
        return modelDto(model);
      }
      const live = { projectId, name, deletedAt: IsNull() };
      const existing = await this.database.repository(Model).findOneBy(live);
      if (existing && return_existing) return modelDto(existing);
      throw finalConflict(`${projectId} has a model of this name: return_existing answers it`);
    });
  }

  async list(query: ModelsQueryDto, caller: Caller): Promise<string> {
    if (query.entity && query.project) caller.assertReaches(`${query.entity}/${query.project}`);
    const rows = await this.database.query(modelsPage(query, caller));
    const items = rows.map((row) => ({ id: row.id, json: JSON.stringify(modelDto(row)) }));
    return pageJson(items, query.limit);
  }

  /** @throws ApiError `not_found` for an unknown model, and for a model outside the scopes of the key */
  async find(id: unknown, caller: Caller): Promise<Model> {
    const live = { id: checkedId(id, 'model'), deletedAt: IsNull() };
    const model = await this.database.repository(Model).findOneBy(live);
    if (!model || !caller.reaches(model.projectId)) throw noSuch('model');
    caller.assertReaches(model.projectId);
    return model;
  }

  /** Finds a model as `find` does, and refuses the model of another project too. */
  async findIn(projectId: string, id: string, caller: Caller): Promise<Model> {
    const model = await this.find(id, caller);
    if (model.projectId !== projectId) throw noSuch('model');
    return model;
  }

  /**
   * Deletes a model with its checkpoints and trajectories. Its jobs are kept, and those that have not ended are
   * cancelled.
   */
  async delete(id: string, caller: Caller): Promise<ModelDeletedDto> {
    const { projectId } = await this.find(id, caller);
    return this.database.transaction({ long: 'bulk' }, async () => {
      await this.lock(projectId, id);
      await this.queue.cancelModelJobs(projectId, id);
      await this.database.repository(Model).update({ projectId, id }, { deletedAt: () => 'now()' });
      const deleted = await this.database.query(checkpointsDeleteAll(projectId, id));
      await this.files.dropAllBut(projectId, jobIds(deleted));
      await this.aliases.drop(projectId, id);
      const num_checkpoints = deleted.length;
      const batches = await this.database.query(batchesDelete(projectId, id));
      const ids = batches.map((batch) => batch.id);
      await this.uploads.forget(projectId, ids);
      const detail = { num_checkpoints, num_batches: batches.length };
      await addEvent(this.database, {
        action: MODELS_DELETE,
        by: caller,
        projectId,
        target: id,
        detail,
      });
      this.database.changes.note(projectId, MODELS);
      return { model_id: id, deleted_checkpoints: num_checkpoints, deleted_run: false };
    });
  }

  async checkpoints(id: string, query: CheckpointsQueryDto, caller: Caller): Promise<string> {
    const model = await this.find(id, caller);
    const after = await this.stepAfter(model, query.after);
    const rows = await this.database.query(checkpointsPage(model, query, after), { long: 'read' });
    return pageJson(rows, query.limit, rows[0]?.found);
  }

  async checkpoint(id: string, step: string, caller: Caller): Promise<string> {
    const model = await this.find(id, caller);
    const [row] = await this.database.query(checkpointJson(model, parseStep(step)));
    if (!row) throw noSuch('checkpoint');
    return row.json;
  }

  async checkpointFile(
    id: string,
    step: string,
    name: string,
    context: Context,
  ): Promise<RangedStream> {
    const { projectId } = await this.find(id, context.caller);
    const where = { projectId, modelId: id, step: parseStep(step) };
    const checkpoint = await this.database.repository(Checkpoint).findOneBy(where);
    const file = checkpoint?.files?.find((one) => one.name === name);
    if (!checkpoint?.jobId || !file) throw noSuch('file');
    return this.files.read({ projectId, jobId: checkpoint.jobId }, file, context);
  }

  /** @throws ApiError `conflict` when one of the steps has an alias */
  async deleteCheckpoints(
    id: string,
    steps: number[],
    caller: Caller,
  ): Promise<CheckpointsDeletedDto> {
    const { projectId } = await this.find(id, caller);
    const gone = await this.database.transaction(async () => {
      await this.lock(projectId, id);
      await this.aliases.assertNone(projectId, id, steps);
      const deleted = await this.database.query(checkpointsDelete(projectId, id, steps));
      const detail = { steps: deleted.map(({ step }) => step) };
      if (deleted.length > 0) {
        await this.files.dropAllBut(projectId, jobIds(deleted));
        this.database.changes.note(projectId, MODELS);
        await addEvent(this.database, {
          action: CHECKPOINTS_DELETE,
          by: caller,
          projectId,
          target: id,
          detail,
        });
      }
      return new Set(detail.steps);
    });
    return {
      deleted_count: gone.size,
      not_found_steps: [...new Set(steps)].filter((step) => !gone.has(step)),
    };
  }

  async log(id: string, context: Context): Promise<object> {
    const { projectId } = await this.find(id, context.caller);
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

  /** Keeps a staged log in the transaction of the caller, who has locked the model. */
  async keepLog(
    upload: TrajectoryUpload,
    { projectId, modelId, split }: { projectId: string; modelId: string; split: string },
  ): Promise<void> {
    const metrics = JSON.stringify(upload.reader.metrics.of(split));
    const [latest] = await this.database.query(metricsMerge(projectId, modelId, metrics));
    const { step, names, bytes } = latest!;
    assertFewMetrics(names, bytes);
    await this.uploads.keep(upload, { projectId, modelId, split, jobId: null, step });
    this.database.changes.note(projectId, MODELS);
  }

  /** Locks the model: until the end of the transaction, no other transaction adds to it. */
  async lock(projectId: string, id: string): Promise<void> {
    const [model] = await this.database.query(modelLock(projectId, id));
    if (!model) throw noSuch('model');
  }

  private async stepAfter(
    { projectId, id: modelId }: ModelKey,
    after: string | undefined,
  ): Promise<number | null> {
    if (!after) return null;
    const where = { projectId, modelId, id: after };
    const checkpoints = this.database.repository(Checkpoint);
    const found = await checkpoints.findOne({ select: { step: true }, where });
    if (!found)
      throw invalidRequest([{ path: 'after', message: 'is not a checkpoint of the model' }]);
    return found.step;
  }
}

const jobIds = (checkpoints: { job_id: string | null }[]) =>
  checkpoints.flatMap(({ job_id }) => job_id ?? []);

/** @throws ApiError `not_found` when the text is not the number of a step */
function parseStep(text: string): number {
  if (/^\d{1,10}$/.test(text) && Number(text) <= MAX_INT) return Number(text);
  throw noSuch('checkpoint');
}

export const groupsMissing = () =>
  invalidRequest([{ path: 'trajectory_groups', message: 'is required' }]);

function checkedSplit(value: unknown): string {
  if (typeof value === 'string' && SPLIT.test(value)) return value;
  const message =
    value === undefined ? 'is required' : 'must be 1 to 64 letters, digits, "_", "." or "-"';
  throw invalidRequest([{ path: 'split', message }]);
}

export const newModelProject = (
  { entity, project }: Pick<ModelCreateDto, 'entity' | 'project'>,
  caller: Caller,
): string => `${entity ?? namedEntity(caller)}/${project}`;

/** Returns the entity of the key: the only one in its scopes, or its user's name. */
function namedEntity({ ownEntity }: Caller): string {
  if (ownEntity !== null) return ownEntity;
  const message = 'is required, since neither the scopes of the key nor its user name one';
  throw invalidRequest([{ path: 'entity', message }]);
}

function modelDto({ projectId, id, name, baseModel }: ModelIdentity): ModelDto {
  const [entity, project] = projectId.split('/') as [string, string];
  return { id, entity, project, name, base_model: baseModel, run_id: null };
}
