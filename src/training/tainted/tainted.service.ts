import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/audit/add-event.js';
import { ApiError } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { groupBy } from '../../platform/query/grouping.js';
import { CallsService } from '../../tracing/calls/calls.service.js';
import { CallsErasingService } from '../../tracing/calls/erasing/calls-erasing.service.js';
import { JOBS } from '../jobs/training-job.entity.js';
import { MODELS } from '../models/model.entity.js';
import { Aliases } from '../promotion/aliases.service.js';
import type { TaintedQueryDto } from './tainted.dto.js';
import {
  buildsList,
  buildsMark,
  buildsOfCalls,
  buildsOfUser,
  checkpointsList,
  checkpointsMark,
  jobsList,
  jobsMark,
  MAX_LISTED,
  type TaintedSelection,
} from './tainted.query.js';

/** Paths of the user: the attributes of the application first, then the user whose key recorded the call. */
const USER = ['attributes.user_id', 'attributes.user\\.id', 'svc_user_id'];

const PURGED = 'calls that it was trained on were purged';

/** Marks and lists builds, jobs and checkpoints that were trained on purged calls. */
@Injectable()
export class TaintedService {
  constructor(
    private readonly database: Database,
    private readonly calls: CallsService,
    private readonly erasing: CallsErasingService,
    private readonly aliases: Aliases,
  ) {}

  /**
   * Marks builds, the jobs trained on them, and all checkpoints that descend from these jobs. Deletes the aliases of
   * the checkpoints. Runs in the transaction that purges calls of the builds, which holds `callDeletionLock`.
   */
  async mark(projectId: string, builds: readonly string[], by: Actor): Promise<void> {
    if (builds.length === 0) return;
    await this.database.query(buildsMark(projectId, builds));
    const jobs = await this.database.query(jobsMark(projectId, builds));
    if (jobs.length === 0) return;
    this.database.changes.note(projectId, JOBS);
    this.database.changes.note(projectId, MODELS);
    for (const [modelId, made] of groupBy(jobs, ({ model_id }) => model_id)) {
      const steps = made.flatMap(({ step }) => step ?? []);
      await this.database.query(checkpointsMark(projectId, modelId, steps));
      await this.aliases.retire({ projectId, modelId, steps }, by, PURGED);
    }
  }

  query(body: TaintedQueryDto): Promise<string> {
    const { project_id: projectId, call_ids, user_id } = body;
    if (call_ids && user_id)
      throw new ApiError('invalid_request', 'at most one of call_ids and user_id may be given');
    return this.database.transaction({ long: 'read' }, async () => {
      const wanted = await this.findWanted(body);
      const lists: string[] = [];
      let hasMore = wanted.length > MAX_LISTED;
      for (const list of [buildsList, jobsList, checkpointsList]) {
        const rows = await this.database.query(list(projectId, wanted));
        hasMore ||= rows.length > MAX_LISTED;
        const shown = rows.slice(0, MAX_LISTED).map(({ json }) => json);
        lists.push(`[${shown.join(',')}]`);
      }
      const [builds, jobs, checkpoints] = lists;
      return `{"builds":${builds},"jobs":${jobs},"checkpoints":${checkpoints},"has_more":${hasMore}}`;
    });
  }

  private async findWanted(body: TaintedQueryDto): Promise<TaintedSelection> {
    const { project_id: projectId, call_ids, user_id } = body;
    if (!call_ids && !user_id) return 'marked';
    const builds = call_ids
      ? buildsOfCalls(projectId, await this.erasing.findFamily(projectId, call_ids))
      : buildsOfUser(
          projectId,
          USER.map((name) => this.calls.field(projectId, name, 'user_id')),
          user_id!,
        );
    return (await this.database.query(builds)).map(({ id }) => id);
  }
}
