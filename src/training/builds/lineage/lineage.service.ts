import { Injectable } from '@nestjs/common';
import { ApiError } from '../../../platform/errors.js';
import { Database } from '../../../platform/database/database.js';
import type {
  LineageAnswerDto,
  LineageCheckpointDto,
  LineageEdgeDto,
  LineageQueryDto,
} from './lineage.dto.js';
import {
  buildsOfInputs,
  callsOfModel,
  type LineageCheckpoint,
  type InputEdge,
  inputsOfBuilds,
  type JobEdge,
  jobsById,
  jobsOfBuilds,
  jobsOfCheckpoint,
  makersOfCalls,
  marksQuery,
  MAX_CALLS,
} from './lineage.query.js';
import { Model } from '../../models/model.entity.js';

type LineageNode = LineageEdgeDto['from'];

/** Reads the lineage. A request reads one project only. */
@Injectable()
export class LineageService {
  constructor(private readonly database: Database) {}

  /**
   * Returns the edges around the requested calls, feedback, build, job or checkpoint: from inputs to checkpoints, and
   * to the calls that these made.
   */
  query(query: LineageQueryDto): Promise<LineageAnswerDto> {
    assertOneWay(query);
    return this.database.transaction({ long: 'read' }, () => this.findEdges(query));
  }

  private async findEdges(query: LineageQueryDto): Promise<LineageAnswerDto> {
    const { project_id: projectId, call_ids: calls, feedback_ids: feedback } = query;
    const edges = new Edges();
    const ids = calls ?? feedback;
    if (ids) await this.down(projectId, { kind: calls ? 'call' : 'feedback', ids, edges });
    else await this.around(query, edges);
    await this.markTainted(projectId, edges.list);
    return { edges: edges.list, has_more: edges.hasMore };
  }

  private async markTainted(projectId: string, edges: LineageEdgeDto[]): Promise<void> {
    const nodes = edges.flatMap(({ from, to }) => [from, to]);
    const ids = (type: LineageNode['type']) => [
      ...new Set(nodes.flatMap((node) => (node.type === type ? nodeKey(node)[1]! : []))),
    ];
    const among = { builds: ids('build'), jobs: ids('job'), models: ids('checkpoint') };
    const marks = await this.database.query(marksQuery(projectId, among));
    const marked = new Map(marks.map(({ node, tainted_at }) => [node, tainted_at]));
    for (const node of nodes) {
      const taintedAt = marked.get(nodeKey(node).join(' '));
      if (taintedAt !== undefined) node.tainted_at = taintedAt;
    }
  }

  /** Adds what calls or feedback were used for, and the checkpoints that made the calls. */
  private async down(
    projectId: string,
    { kind, ids, edges }: { kind: 'call' | 'feedback'; ids: string[]; edges: Edges },
  ): Promise<void> {
    const inputs = await this.database.query(buildsOfInputs(projectId, kind, ids));
    edges.inputs(inputs);
    const builds = [...new Set(inputs.map(({ build_id }) => build_id))];
    edges.jobs(await this.database.query(jobsOfBuilds(projectId, builds)));
    if (kind === 'feedback') return;
    for (const { call_id, ...checkpoint } of await this.database.query(
      makersOfCalls(projectId, ids),
    ))
      edges.made(checkpoint, call_id);
  }

  /** Adds the inputs of a build, a job or a checkpoint, and the calls that the checkpoints made. */
  private async around(query: LineageQueryDto, edges: Edges): Promise<void> {
    const { project_id: projectId, build_id, job_id, model_id, step } = query;
    const jobs = await this.database.query(
      build_id
        ? jobsOfBuilds(projectId, [build_id])
        : job_id
          ? jobsById(projectId, job_id)
          : jobsOfCheckpoint(projectId, model_id!, step!),
    );
    edges.jobs(jobs);
    const builds = build_id ? [build_id] : jobs.flatMap((job) => job.build_id ?? []);
    edges.inputs(await this.database.query(inputsOfBuilds(projectId, [...new Set(builds)])));
    const checkpoints = new Map<string, LineageCheckpoint>();
    for (const job of jobs)
      if (job.step !== null)
        checkpoints.set(`${job.model_id} ${job.step}`, { ...job, step: job.step });
    if (model_id) {
      const model = await this.database.repository(Model).findOneBy({ projectId, id: model_id });
      const asked = { model_id, model: model?.name ?? null, step: step! };
      checkpoints.set(`${model_id} ${step}`, asked);
    }
    for (const checkpoint of checkpoints.values()) await this.madeBy(projectId, checkpoint, edges);
  }

  private async madeBy(
    projectId: string,
    checkpoint: LineageCheckpoint,
    edges: Edges,
  ): Promise<void> {
    const { model, step } = checkpoint;
    if (model === null) return;
    const calls = await this.database.query(callsOfModel(projectId, `${model}:step${step}`));
    edges.hasMore ||= calls.length > MAX_CALLS;
    for (const { id } of calls.slice(0, MAX_CALLS)) edges.made(checkpoint, id);
  }
}

/** Collects edges without duplicates. */
class Edges {
  hasMore = false;
  private readonly found = new Map<string, LineageEdgeDto>();

  get list(): LineageEdgeDto[] {
    return [...this.found.values()];
  }

  inputs(inputs: InputEdge[]): void {
    this.hasMore ||= inputs.length > MAX_CALLS * 10;
    for (const { kind, id, build_id } of inputs.slice(0, MAX_CALLS * 10))
      this.add({ type: kind, id }, { type: 'build', id: build_id });
  }

  jobs(jobs: JobEdge[]): void {
    for (const { build_id, job_id, model_id, model, step } of jobs) {
      const job = { type: 'job', id: job_id } as const;
      if (build_id) this.add({ type: 'build', id: build_id }, job);
      if (step !== null) this.add(job, checkpointNode({ model_id, model, step }));
    }
  }

  made(checkpoint: LineageCheckpoint, call: string): void {
    this.add(checkpointNode(checkpoint), { type: 'call', id: call });
  }

  private add(from: LineageNode, to: LineageNode): void {
    this.found.set(JSON.stringify([from, to]), { from, to });
  }
}

const nodeKey = (node: LineageNode): string[] =>
  node.type === 'checkpoint' ? [node.type, node.model_id, String(node.step)] : [node.type, node.id];

const checkpointNode = ({ model_id, model, step }: LineageCheckpoint): LineageCheckpointDto => ({
  type: 'checkpoint',
  model_id,
  model,
  step,
});

const given = (value: unknown) => value !== undefined && value !== null;

function assertOneWay(query: LineageQueryDto): void {
  const { call_ids, feedback_ids, build_id, job_id, model_id, step } = query;
  const ways = [call_ids, feedback_ids, build_id, job_id, model_id].filter(given);
  if (ways.length !== 1 || given(model_id) !== given(step))
    throw new ApiError(
      'invalid_request',
      'exactly one of call_ids, feedback_ids, build_id, job_id, and model_id with step is required',
    );
}
