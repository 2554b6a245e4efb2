import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import { Idempotency, idempotencyKey } from '../../platform/auth/idempotency/idempotency.js';
import type { Context } from '../../platform/http/context.js';
import { invalidRequest } from '../../platform/errors.js';
import { textsIn } from '../../platform/json/json-text.js';
import { Database } from '../../platform/database/database.js';
import { ConnectionSlots } from '../../platform/database/connection-slots.js';
import { BuildOutputsService } from '../builds/exports/build-outputs.service.js';
import type { TrainingJobCreatedDto } from '../preview.dto.js';
import { TrainingJobsService } from '../jobs/training-jobs.service.js';
import type { Model } from '../models/model.entity.js';
import { ModelsService } from '../models/models.service.js';
import { noSuch } from '../pages.js';
import { PayloadsService } from '../trajectories/payloads.service.js';
import { UploadsService } from '../trajectories/uploads.service.js';
import { RowsReader } from './rows-reader.js';
import type { SftJobCreateDto } from './sft.dto.js';
import { TrainingDataService } from './training-data.service.js';

const URL_FORM = /^skein:\/\/\/(builds|training-data)\/([0-9a-f-]{36})$/;
/** Jobs whose rows a process copies at once. */
const AT_ONCE = 3;

/** Rows for a job, and a callback for the transaction that creates the job. */
interface SftRows {
  rows: AsyncIterable<Buffer>;
  note: (jobId: string) => Promise<void>;
}

/** Queues jobs of supervised fine-tuning. Each job has a copy of its rows. */
@Injectable()
export class SftJobsService {
  private readonly slots = new ConnectionSlots(AT_ONCE);
  @Inject(BuildOutputsService) private readonly builds!: BuildOutputsService;
  @Inject(PayloadsService) private readonly payloads!: PayloadsService;
  @Inject(UploadsService) private readonly uploads!: UploadsService;
  @Inject(Idempotency) private readonly idempotency!: Idempotency;

  constructor(
    private readonly database: Database,
    private readonly models: ModelsService,
    private readonly data: TrainingDataService,
    private readonly jobs: TrainingJobsService,
  ) {}

  /**
   * Queues a job. Returns the same job when the request is sent again before the job has ended. An idempotency key
   * decides instead when the request has one.
   */
  async create(body: SftJobCreateDto, context: Context): Promise<TrainingJobCreatedDto> {
    const model = await this.models.find(body.model_id, context.caller);
    return this.slots.with(this.database.scope.owner, () => this.createNow(model, body, context));
  }

  private async createNow(
    model: Model,
    { training_data_url: url }: SftJobCreateDto,
    context: Context,
  ): Promise<TrainingJobCreatedDto> {
    const { caller } = context;
    const { projectId } = model;
    const { rows, note } = await this.source(url, projectId, caller);
    const upload = await this.uploads.stageBy(new RowsReader(), projectId, rows);
    if (!upload) throw invalidRequest([{ path: URL_FIELD, message: 'names data without rows' }]);
    const texts = textsIn(context.text, { config: true, experimental_config: true })!;
    const job = {
      kind: 'sft' as const,
      userId: caller.userName,
      trainingDataUrl: url,
      config: jsonOrNull(texts.config),
      experimentalConfig: jsonOrNull(texts.experimental_config),
      retrainsJobId: null,
    };
    const add = async () => {
      await caller.assertValid();
      await this.models.lock(projectId, model.id);
      const same =
        idempotencyKey(context) === undefined && (await this.jobs.sameJob(model, upload, job));
      if (same) return same;
      const added = await this.jobs.add(model, upload, job);
      await note(added.id);
      return added;
    };
    try {
      return await this.idempotency.once(context, add, {
        project: projectId,
        transaction: (run) => this.database.transaction({ long: 'bulk' }, run),
      });
    } finally {
      if (!upload.isKept) await upload.staged.discard();
    }
  }

  /** @throws ApiError when the URL names no build or data of the project */
  private async source(url: string, projectId: string, caller: Caller): Promise<SftRows> {
    const [, kind, id] = URL_FORM.exec(url) ?? [];
    if (kind === undefined || id === undefined)
      throw invalidRequest([{ path: URL_FIELD, message: urlMessage(url) }]);
    if (kind === 'builds') return this.builds.sftSource(projectId, id);
    const data = await this.data.find(id, caller);
    if (data.projectId !== projectId) throw noSuch('training data');
    return { rows: this.payloads.textOf(data, caller), note: () => this.data.assertThere(data) };
  }
}

const URL_FIELD = 'training_data_url';

function urlMessage(url: string): string {
  const forms = 'must be skein:///builds/<id>, or skein:///training-data/<id>';
  const upload = 'of what POST /v1/preview/training-data?project= answered';
  if (!url.startsWith('wandb-artifact:')) return `${forms} ${upload}`;
  return `${forms} ${upload}: artifacts of W&B cannot be read, so send the file there`;
}

const jsonOrNull = (text: string | undefined) =>
  text === undefined || text === 'null' ? null : text;
