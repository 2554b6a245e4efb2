import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { addEventBefore, auditAction } from '../../../platform/audit/add-event.js';
import type { Caller } from '../../../platform/auth/caller.js';
import type { Context } from '../../../platform/http/context.js';
import type { JsonBatch } from '../../../platform/http/json-rows.js';
import { ApiError } from '../../../platform/errors.js';
import { EventLoopTurn } from '../../../platform/time/event-loop-turn.js';
import { Busy } from '../../../platform/refusals.js';
import { Database } from '../../../platform/database/database.js';
import { STATEMENT_MS } from '../../../platform/database/limits.js';
import { STALLED_AFTER_MS } from '../../../platform/database/row-stream.js';
import {
  type ConnectionSlot,
  ConnectionSlots,
} from '../../../platform/database/connection-slots.js';
import { TrainingJobsService } from '../../jobs/training-jobs.service.js';
import { unpackChunks, toJsonArray, cutLines, joinPieces } from './build-bytes.js';
import type { BuildExportDto, BuildSubmitDto, BuildSubmittedDto } from '../builds.dto.js';
import {
  buildQuery,
  type BuildRow,
  type PackedChunk,
  chunksQuery,
  jobInsert,
} from '../builds.query.js';
import { type ConvertedFormat, type ExportOptions, exportRows, trajectoryRows } from './exports.js';
import { derivedDataLock } from '../../derived-data-lock.query.js';
import type { Split } from '../groups/groups.js';
import type { LintDto } from '../build-facts.dto.js';
import { lintFailed, type LintRules, Lints } from '../recipe/lints.js';
import type { LintCode } from '../recipe/recipe.dto.js';
import { readRecipe } from '../recipe/recipe.js';

const BUILD_EXPORT = auditAction('build.export');

/**
 * Largest ratio of desirable to undesirable examples, or the inverse. Above it, TRL's documentation recommends
 * weights.
 */
const MAX_IMBALANCE = 4 / 3;
/**
 * Submits and exports that a process runs at once. An export in a format other than `art` holds one group in memory.
 */
const AT_ONCE = 3;

/** Hands builds to trainers: as training jobs, or as files. */
@Injectable()
export class BuildOutputsService {
  private readonly slots = new ConnectionSlots(AT_ONCE);

  constructor(
    private readonly database: Database,
    private readonly jobs: TrainingJobsService,
  ) {}

  /**
   * Queues a training job with the training side of a build, and logs the evaluation side. `retrains` is the id of
   * the job whose training the new job repeats.
   * @throws Busy when too many builds are submitted or exported at once
   */
  submit(
    body: BuildSubmitDto,
    caller: Caller,
    retrains: string | null = null,
  ): Promise<BuildSubmittedDto> {
    return this.slots.with(this.database.scope.owner, () => this.submitNow(body, caller, retrains));
  }

  private async submitNow(
    body: BuildSubmitDto,
    caller: Caller,
    retrains: string | null,
  ): Promise<BuildSubmittedDto> {
    const { project_id: projectId, build_id: buildId, model_id: modelId } = body;
    const build = await this.find(projectId, buildId);
    const { experimental_config: config } = readRecipe(JSON.parse(build.recipe), 'recipe').train;
    const readBody = (split: Split) => this.readBody(build, { projectId, split });
    const { id } = await this.jobs.submit(
      {
        projectId,
        modelId,
        train: readBody('train'),
        evaluation: readBody('eval'),
        config: config && JSON.stringify(config),
        retrains,
      },
      caller,
      (job) => this.noteJob(projectId, buildId, job),
    );
    return { job_id: id };
  }

  /**
   * Records the job of a build, in the transaction that creates the job.
   * @throws ApiError when the build has been erased
   */
  private async noteJob(
    projectId: string,
    buildId: string,
    job: { id: string; logBatchId: string | null },
  ): Promise<void> {
    // a concurrent erasing has either ended, or will find the job
    await this.database.query(derivedDataLock(projectId));
    await this.find(projectId, buildId);
    await this.database.query(jobInsert(projectId, buildId, job));
  }

  /**
   * Returns the conversations of the training side with a good reward, as JSONL. `note` runs in the transaction that
   * creates a job from them.
   */
  async sftSource(projectId: string, buildId: string) {
    const build = await this.find(projectId, buildId);
    const { threshold } = readRecipe(JSON.parse(build.recipe), 'recipe').reward;
    const lines = cutLines(this.readChunks(projectId, build, 'train'));
    return {
      rows: joinPieces(exportRows('sft', lines, { minReward: threshold, minMargin: 0 })),
      note: (id: string) => this.noteJob(projectId, buildId, { id, logBatchId: null }),
    };
  }

  /**
   * Yields a body whose member `trajectory_groups` holds the groups of one side. Yields nothing when that side is
   * empty.
   */
  private async *readBody(
    build: BuildRow,
    { projectId, split }: { projectId: string; split: Split },
  ): AsyncGenerator<Buffer> {
    let isFirst = true;
    const turn = new EventLoopTurn();
    for await (const piece of toJsonArray(this.readChunks(projectId, build, split))) {
      if (isFirst) yield Buffer.from('{"trajectory_groups":[');
      isFirst = false;
      if (turn.isOver) await turn.next();
      yield piece;
    }
    if (!isFirst) yield Buffer.from(']}');
  }

  /**
   * Returns an export in pieces, and the lints of its format.
   * @throws ApiError when the recipe declares one of these lints an error, Busy when too many builds are exported at
   * once
   */
  async export(
    body: BuildExportDto,
    { caller, signal }: Pick<Context, 'caller' | 'signal'>,
  ): Promise<{ pieces: Readable; lints: LintDto[] }> {
    const { project_id: projectId, build_id, format, split, min_reward, min_margin } = body;
    const build = await this.find(projectId, build_id);
    const recipe = readRecipe(JSON.parse(build.recipe), 'recipe');
    const options = {
      minReward: min_reward ?? recipe.reward.threshold,
      minMargin: min_margin ?? 0,
    };
    const chunks = () => this.readChunks(projectId, build, split ?? 'all');
    const slot = await this.slots.take(this.database.scope.owner);
    try {
      if (format === 'art')
        return await this.handOver(body, caller, {
          pieces: unpackChunks(chunks()),
          lints: [],
          slot,
        });
      const lints = await exportLints(format, cutLines(chunks()), {
        ...options,
        rules: recipe.lints,
        signal,
      });
      const errors = lints.filter(({ level }) => level === 'error');
      if (errors.length > 0) throw lintFailed(lints, errors);
      const pieces = joinPieces(exportRows(format, cutLines(chunks()), options));
      return await this.handOver(body, caller, { pieces, lints, slot });
    } catch (error) {
      this.slots.free(slot);
      throw error;
    }
  }

  /**
   * Returns the trajectories of a build as rows, in batches of JSON texts.
   * @throws Busy when too many builds are exported at once
   */
  async trajectories(projectId: string, buildId: string): Promise<Readable> {
    const build = await this.find(projectId, buildId);
    const slot = await this.slots.take(this.database.scope.owner);
    const lines = cutLines(this.readChunks(projectId, build, 'all'));
    return this.watch(trajectoryRows(lines), slot);
  }

  private async handOver(
    { project_id: projectId, build_id, format, split }: BuildExportDto,
    by: Caller,
    {
      pieces,
      lints,
      slot,
    }: { pieces: AsyncIterable<Buffer>; lints: LintDto[]; slot: ConnectionSlot },
  ): Promise<{ pieces: Readable; lints: LintDto[] }> {
    const detail = { format, split: split ?? 'all' };
    const event = { action: BUILD_EXPORT, by, projectId, target: build_id, detail };
    await addEventBefore(this.database, event);
    return { pieces: this.watch(pieces, slot), lints };
  }

  /**
   * Frees the slot when the reader has finished or left. Cuts a reader that takes nothing for `STALLED_AFTER_MS`, or
   * sooner while another key waits.
   */
  private watch(pieces: AsyncIterable<Buffer | JsonBatch>, slot: ConnectionSlot): Readable {
    let stalled: NodeJS.Timeout | undefined;
    const taken = async function* () {
      for await (const piece of pieces) {
        slot.idleSince = performance.now();
        stalled = setTimeout(cut, STALLED_AFTER_MS);
        yield piece;
        clearTimeout(stalled);
        slot.idleSince = null;
      }
    };
    const stream = Readable.from(taken(), { highWaterMark: 1 });
    const cut = () => stream.destroy(new Busy('the reader of the export is too slow'));
    slot.cut = cut;
    const end = setTimeout(cut, STATEMENT_MS.stream);
    return stream.once('close', () => {
      clearTimeout(stalled);
      clearTimeout(end);
      this.slots.free(slot);
    });
  }

  /**
   * Reads a few chunks at a time, so that a slow reader holds no connection.
   * @throws Error when the build was erased during the read
   */
  private async *readChunks(
    projectId: string,
    { id, num_chunks }: BuildRow,
    split: Split | 'all',
  ): AsyncGenerator<PackedChunk> {
    for (let seq = -1; seq < num_chunks - 1;) {
      const chunks = await this.database.query(chunksQuery(projectId, id, seq));
      if (chunks.length === 0) throw new Error('the build was erased while it was read');
      for (const chunk of chunks) if (split === 'all' || chunk.split === split) yield chunk;
      seq = chunks.at(-1)!.seq;
    }
  }

  /** @throws ApiError `not_found`, or `conflict` when the build was erased */
  async find(projectId: string, id: string): Promise<BuildRow> {
    const [build] = await this.database.query(buildQuery(projectId, id));
    if (!build) throw new ApiError('not_found', 'there is no such build in the project');
    if (build.is_erased)
      throw new ApiError('conflict', 'the build was erased, because one of its calls was erased');
    return build;
  }
}

/**
 * Finds the lints of an export: what it leaves out or loses. The response header contains them, so all rows are
 * converted once before the first row is sent.
 */
async function exportLints(
  format: ConvertedFormat,
  groups: AsyncIterable<Buffer>,
  { rules, signal, ...options }: ExportOptions & { rules: LintRules; signal: AbortSignal },
): Promise<LintDto[]> {
  const lints = new Lints(rules);
  const note = (code: LintCode, call: string) => void lints.note(code, [call]);
  const labels = { good: 0, bad: 0 };
  const label = (isGood: boolean) => void labels[isGood ? 'good' : 'bad']++;
  for await (const _ of exportRows(format, groups, { ...options, note, label }))
    if (signal.aborted) throw new ApiError('request_timeout', 'the client has left');
  const { good, bad } = labels;
  if (Math.max(good, bad) > MAX_IMBALANCE * Math.min(good, bad))
    lints.note('kto_imbalance', [], Math.abs(good - bad));
  return lints.list;
}
