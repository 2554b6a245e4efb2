import { Inject, Injectable } from '@nestjs/common';
import { addEvent, auditAction } from '../../../platform/audit/add-event.js';
import type { Context } from '../../../platform/http/context.js';
import { ApiError } from '../../../platform/errors.js';
import { Database } from '../../../platform/database/database.js';
import { TrainingJobsService } from '../../jobs/training-jobs.service.js';
import { ModelsService } from '../../models/models.service.js';
import { BuildOutputsService } from '../exports/build-outputs.service.js';
import { BuildsErasing } from '../builds-erasing.service.js';
import { BuildsService } from '../builds.service.js';
import { type MakerRow, makersQuery } from './lineage.query.js';
import type { RetrainDto, RetrainedDto, RetrainedJobDto } from './lineage.dto.js';

const RETRAIN = auditAction('models.retrain');

/** Jobs that one request queues. Each may need a build. */
const MAX_JOBS = 20;

type RetrainLink = MakerRow & { build_id: string };

/** Repeats the training of tainted checkpoints without the purged calls. */
@Injectable()
export class RetrainsService {
  @Inject(Database) private readonly database!: Database;
  @Inject(ModelsService) private readonly models!: ModelsService;

  constructor(
    private readonly jobs: TrainingJobsService,
    private readonly builds: BuildsService,
    private readonly outputs: BuildOutputsService,
    private readonly erasing: BuildsErasing,
  ) {}

  /**
   * Queues a job for each step between the nearest clean ancestor and the checkpoint. Returns jobs that were queued
   * before too, so a client may send the request again.
   */
  async retrain(body: RetrainDto, context: Context): Promise<RetrainedDto> {
    const { project_id: projectId, model_id: modelId, step } = body;
    const { caller } = context;
    await this.models.findIn(projectId, modelId, caller);
    const { links, fromStep } = await this.findLinks(body);
    const jobs: RetrainedJobDto[] = [];
    let queued = 0;
    for (const link of links) {
      if (queued === MAX_JOBS) break;
      await caller.assertValid();
      const job = await this.retrainOne(link, body, context);
      if (job.outcome === 'queued') queued++;
      jobs.push({ retrains_job_id: link.job_id, retrains_step: link.step, ...job });
    }
    if (queued > 0) {
      const detail = {
        step,
        from_step: fromStep,
        jobs: jobs.flatMap(({ job_id }) => job_id ?? []),
      };
      const event = { action: RETRAIN, by: caller, projectId, target: modelId, detail };
      await this.database.transaction(() => addEvent(this.database, event));
    }
    const has_more = jobs.length < links.length;
    return { model_id: modelId, step, from_step: fromStep, jobs, has_more };
  }

  /**
   * Finds the jobs that made the tainted checkpoints, from the oldest to the requested one.
   * @throws ApiError when the requested checkpoint is not tainted, or one of the jobs has no recipe
   */
  private async findLinks({ project_id, model_id, step }: RetrainDto) {
    const links: RetrainLink[] = [];
    let fromStep = step;
    for (const row of await this.database.query(makersQuery(project_id, model_id, step))) {
      if (row.step !== fromStep) continue;
      if (!row.is_tainted) break;
      const { build_id } = row;
      if (!build_id)
        throw new ApiError(
          'conflict',
          `step ${row.step} was made by the job ${row.job_id}, which has no build of groups, and so no recipe: send what is left of its groups or conversations again`,
        );
      links.unshift({ ...row, build_id });
      fromStep = row.parent_step;
    }
    if (links.length === 0)
      throw new ApiError(
        'conflict',
        `step ${step} of the model was not trained on calls that have been purged`,
      );
    return { links, fromStep };
  }

  private async retrainOne(
    { job_id: retrains, build_id }: RetrainLink,
    { project_id, model_id }: RetrainDto,
    context: Context,
  ): Promise<Pick<RetrainedJobDto, 'outcome' | 'job_id'>> {
    const known = await this.jobs.findRetrain({ projectId: project_id, id: model_id }, retrains);
    if (known) return { outcome: 'known', job_id: known.id };
    const buildId = await this.builds.remake(project_id, build_id, context);
    if (buildId === null) return { outcome: 'nothing_left', job_id: null };
    if (buildId !== build_id) await this.erasing.forgetGone(project_id, buildId);
    const body = { project_id, build_id: buildId, model_id };
    const { job_id } = await this.outputs.submit(body, context.caller, retrains);
    return { outcome: 'queued', job_id };
  }
}
