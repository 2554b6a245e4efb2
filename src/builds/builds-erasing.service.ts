import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import { ErasingsService } from '../erasing/erasings.service.js';
import { TrainingJobsService } from '../preview/jobs/training-jobs.service.js';
import {
  builderLock,
  buildsForget,
  buildsOfCalls,
  chunksForget,
  deletersLock,
  goneCalls,
  jobsForget,
} from './builds.query.js';

/**
 * Erases what builds hold of calls that are deleted or erased: the groups of the whole build, and the copies of them in
 * its jobs and logs. Digests, counts and manifests stay, so that what was trained on what can still be told.
 */
@Injectable()
export class BuildsErasing {
  constructor(
    private readonly database: Database,
    private readonly jobs: TrainingJobsService,
    erasings: ErasingsService,
  ) {
    erasings.onForget({
      lock: deletersLock,
      made: buildsOfCalls,
      forget: (projectId, builds) => this.forget(projectId, builds),
    });
  }

  /**
   * Erases a build that was made of a snapshot in which calls were there that are gone now. Who deletes calls while it
   * looks has either seen the build, or is waited for here.
   */
  async forgetGone(projectId: string, buildId: string): Promise<void> {
    await this.database.transaction(async () => {
      await this.database.query(builderLock(projectId));
      const [gone] = await this.database.query<{ id: string }>(goneCalls(projectId, buildId));
      if (gone) await this.forget(projectId, [buildId]);
    });
  }

  private async forget(projectId: string, builds: readonly string[]): Promise<void> {
    const forgotten = await this.database.query<{ id: string }>(buildsForget(projectId, builds));
    const ids = forgotten.map(({ id }) => id);
    if (ids.length === 0) return;
    this.database.note(projectId, 'builds');
    await this.database.query(chunksForget(projectId, ids));
    const jobs = await this.database.query<{ job_id: string; log_batch_id: string | null }>(
      jobsForget(projectId, ids),
    );
    await this.jobs.forget(
      projectId,
      jobs.map(({ job_id }) => job_id),
      jobs.flatMap(({ log_batch_id: log }) => log ?? []),
    );
  }
}
