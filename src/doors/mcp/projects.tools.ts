import { Injectable } from '@nestjs/common';
import { ApiError } from '../../platform/errors.js';
import { memberElements } from '../../platform/json/json-text.js';
import { CallStatsService } from '../../tracing/calls/stats/call-stats.service.js';
import { ProjectsService } from '../../tracing/projects/projects.service.js';
import { CallStatsToolDto, ListProjectsToolDto } from './mcp.dto.js';
import type { ToolAnswer } from './tool-answer.js';
import { type ToolRequest, byOffset, toolPage, pageLimit, tool, type ToolSource } from './tool.js';

const DAY_SECONDS = 86_400;

/** Metrics for requests that name none. */
const USUAL_CALL_METRICS = [
  { metric: 'call_count' as const },
  { metric: 'error_count' as const },
  { metric: 'latency_ms' as const, aggregations: ['avg' as const], percentiles: [50, 95] },
];
const USUAL_USAGE_METRICS = [
  { metric: 'total_tokens' as const },
  { metric: 'total_cost' as const },
];

@Injectable()
export class ProjectTools implements ToolSource {
  constructor(
    private readonly projects: ProjectsService,
    private readonly stats: CallStatsService,
  ) {}

  readonly tools = [
    tool({
      name: 'list_projects',
      description: 'The projects that the key reaches, with their calls, bytes and last activity.',
      role: 'reader',
      dto: ListProjectsToolDto,
      shown: ['limit', 'offset', 'max_tokens'],
      run: (args, asked) => this.list(args, asked),
    }),
    tool({
      name: 'call_stats',
      description:
        'Exact counts, errors, latencies (average, p50, p95), tokens and costs of the calls that started in [start, end), by buckets of granularity seconds (a day when absent). group_by ["op_name"] compares ops, usage_buckets are by model too. To see what got slower, ask for two days and compare p95_latency_ms of each op.',
      role: 'reader',
      dto: CallStatsToolDto,
      shown: [
        'project_id',
        'start',
        'end',
        'granularity',
        'timezone',
        'group_by',
        'filter',
        'query',
        'call_metrics',
        'usage_metrics',
        'max_tokens',
      ],
      described: {
        start: { description: 'ISO 8601' },
        end: { description: 'ISO 8601' },
        granularity: { type: 'integer' },
        filter: { description: 'as in search_calls' },
        query: { description: 'as in search_calls' },
        call_metrics: {
          description:
            '{"metric":"call_count"|"error_count"|"latency_ms","aggregations":["avg","max"],"percentiles":[99]}',
        },
        usage_metrics: {
          description: '{"metric":"input_tokens"|"output_tokens"|"total_tokens"|"total_cost"}',
        },
      },
      run: (args, asked) => this.count(args, asked),
    }),
  ];

  private async list(args: ListProjectsToolDto, asked: ToolRequest): Promise<ToolAnswer> {
    const limit = pageLimit(args.limit);
    const { scopes } = asked.context.caller;
    const found = await this.projects.query(scopes, Object.assign({}, args, { limit }));
    const rows = listElements(found, 'projects');
    return toolPage('projects', rows, asked, { limit, after: byOffset(args.offset) });
  }

  private async count(args: CallStatsToolDto, { budget }: ToolRequest): Promise<ToolAnswer> {
    const { call_metrics, usage_metrics } = args;
    const isUsual = !call_metrics && !usage_metrics;
    const recorded = await this.stats.stats(
      Object.assign({}, args, {
        granularity: args.granularity ?? DAY_SECONDS,
        ...(isUsual && { call_metrics: USUAL_CALL_METRICS, usage_metrics: USUAL_USAGE_METRICS }),
      }),
    );
    if (!budget.takes(recorded))
      throw new ApiError(
        'too_large',
        `the statistics have ${Buffer.byteLength(recorded)} bytes, more than max_tokens has room for: ask for a larger granularity, a shorter window, fewer metrics or groups`,
      );
    return { words: 'Statistics of calls by bucket; usage_buckets are by model.', recorded };
  }
}

/** Yields the JSON text of each element of the list `name`. `answer` is the JSON text of a service's whole answer. */
export async function* listElements(answer: string, name: string): AsyncGenerator<string> {
  yield* memberElements(answer, name);
}
