import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/audit/add-event.js';
import { Database } from '../../platform/database/database.js';
import { DerivedDataRegistry } from '../../tracing/calls/erasing/derived-data.service.js';
import { TrainingJobsService } from '../jobs/training-jobs.service.js';
import {
  buildsForget,
  buildsOfCalls,
  chunksForget,
  goneCalls,
  jobsForget,
} from './builds.query.js';
import { callDeletionLock, derivedDataLock } from '../derived-data-lock.query.js';
import { TaintedService } from '../tainted/tainted.service.js';
import { BUILDS } from './build.entity.js';

/**
 * Erases the groups of builds that contain deleted or erased calls, and their copies in jobs and logs. Digests,
 * counts and manifests stay, so that the lineage remains known. When calls are purged, jobs and checkpoints trained
 * on the builds are marked as tainted.
 */
@Injectable()
export class BuildsErasing {
  constructor(
    private readonly database: Database,
    private readonly jobs: TrainingJobsService,
    private readonly tainted: TaintedService,
    calls: DerivedDataRegistry,
  ) {
    calls.register({
      lock: callDeletionLock,
      made: buildsOfCalls,
      forget: (projectId, builds, purgedBy) => this.forget(projectId, builds, purgedBy),
    });
  }

  /**
   * Erases a new build when calls of its snapshot have been deleted since. A concurrent deletion has either seen the
   * build, or this method waits for it.
   */
  async forgetGone(projectId: string, buildId: string): Promise<void> {
    await this.database.transaction(async () => {
      await this.database.query(derivedDataLock(projectId));
      const [gone] = await this.database.query(goneCalls(projectId, buildId));
      if (gone) await this.forget(projectId, [buildId], null);
    });
  }

  private async forget(
    projectId: string,
    builds: readonly string[],
    purgedBy: Actor | null,
  ): Promise<void> {
    await this.eraseGroups(projectId, builds);
    if (purgedBy) await this.tainted.mark(projectId, builds, purgedBy);
  }

  private async eraseGroups(projectId: string, builds: readonly string[]): Promise<void> {
    const forgotten = await this.database.query(buildsForget(projectId, builds));
    const ids = forgotten.map(({ id }) => id);
    if (ids.length === 0) return;
    this.database.changes.note(projectId, BUILDS);
    await this.database.query(chunksForget(projectId, ids));
    const jobs = await this.database.query(jobsForget(projectId, ids));
    await this.jobs.forget(
      projectId,
      jobs.map(({ job_id }) => job_id),
      jobs.flatMap(({ log_batch_id: log }) => log ?? []),
    );
  }
}
