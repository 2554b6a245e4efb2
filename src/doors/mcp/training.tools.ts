import { Injectable } from '@nestjs/common';
import { BuildsService } from '../../training/builds/builds.service.js';
import { TrainingJobsService } from '../../training/jobs/training-jobs.service.js';
import { ListBuildsToolDto, ListJobsToolDto } from './mcp.dto.js';
import { listElements } from './projects.tools.js';
import { type ToolAnswer, jsonExcerpt } from './tool-answer.js';
import {
  type ToolRequest,
  byOffset,
  NEWEST_FIRST,
  toolPage,
  pageLimit,
  tool,
  type ToolSource,
} from './tool.js';

/** Maximum number of jobs on a page, and of events of a job. */
const PAGE = 20;

@Injectable()
export class TrainingTools implements ToolSource {
  constructor(
    private readonly builds: BuildsService,
    private readonly jobs: TrainingJobsService,
  ) {}

  readonly tools = [
    tool({
      name: 'list_builds',
      description:
        'Builds of training data from recorded calls, the newest first: recipe, counts, lints, and the jobs they became.',
      role: 'reader',
      dto: ListBuildsToolDto,
      shown: ['project_id', 'limit', 'offset', 'max_tokens'],
      run: (args, asked) => this.listBuilds(args, asked),
    }),
    tool({
      name: 'list_jobs',
      description:
        'Training jobs, the newest first. With id: that job and its events from the first on. after: the id of the last row.',
      role: 'reader',
      dto: ListJobsToolDto,
      shown: ['project_id', 'id', 'status', 'after', 'max_tokens'],
      run: (args, asked) => this.listJobs(args, asked),
    }),
  ];

  private async listBuilds(args: ListBuildsToolDto, asked: ToolRequest): Promise<ToolAnswer> {
    const limit = pageLimit(args.limit);
    const stream = await this.builds.query(
      Object.assign({ sort_by: NEWEST_FIRST }, args, { limit }),
    );
    const rows = asked.budget.texts(stream);
    return toolPage('builds', rows, asked, { limit, after: byOffset(args.offset) });
  }

  private async listJobs(args: ListJobsToolDto, asked: ToolRequest): Promise<ToolAnswer> {
    const { caller } = asked.context;
    if (args.id) return this.readJob(args.id, args, asked);
    const [entity, project] = args.project_id.split('/') as [string, string];
    const { status, after } = args;
    const found = await this.jobs.list(
      {
        entity,
        project,
        order: 'desc',
        limit: PAGE,
        ...(status && { status }),
        ...(after && { after }),
      },
      caller,
    );
    return toolPage('jobs', listElements(found, 'data'), asked, { limit: PAGE, after: nextId });
  }

  private async readJob(
    id: string,
    { after }: ListJobsToolDto,
    asked: ToolRequest,
  ): Promise<ToolAnswer> {
    const { budget, context } = asked;
    const job = jsonExcerpt(await this.jobs.read(id, context.caller), Math.floor(budget.left / 2));
    budget.left -= Buffer.byteLength(job) + 10;
    const query = { limit: PAGE, ...(after && { after }) };
    const found = await this.jobs.events(id, query, context.caller);
    const { words, recorded } = await toolPage('events', listElements(found, 'data'), asked, {
      limit: PAGE,
      after: nextId,
    });
    const events = recorded === undefined ? '' : `,${recorded.slice(1, -1)}`;
    return { words: `The job. Its events: ${words}`, recorded: `{"job":${job}${events}}` };
  }
}

/** Returns the position of the next page of a list that is paged by ids of the service. */
const nextId = (row: string) =>
  `,"next_after":${JSON.stringify((JSON.parse(row) as { id: string }).id)}`;
