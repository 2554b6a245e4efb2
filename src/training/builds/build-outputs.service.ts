import { Readable } from 'node:stream';
import { Injectable, Logger } from '@nestjs/common';
import { addEventAlone, auditAction } from '../../platform/audit/add-event.js';
import type { Caller } from '../../platform/auth/caller.js';
import { ApiError } from '../../platform/errors.js';
import { Turn } from '../../platform/time/turn.js';
import { Busy } from '../../platform/refusals.js';
import { Database } from '../../platform/database/database.js';
import { STATEMENT_MS } from '../../platform/database/limits.js';
import { STALLED_AFTER_MS } from '../../platform/database/row-stream.js';
import { type Slot, Slots } from '../../platform/database/slots.js';
import { TrainingJobsService } from '../jobs/training-jobs.service.js';
import { bytesOf, elementsOf, linesOf, piecesOf } from './build-bytes.js';
import type { BuildExportDto, BuildSubmitDto, BuildSubmittedDto } from './builds.dto.js';
import {
  builderLock,
  buildQuery,
  type BuildRow,
  type Chunk,
  chunksQuery,
  jobInsert,
  labelsQuery,
  tiesQuery,
} from './builds.query.js';
import { type ExportOptions, exportRows } from './exports.js';
import type { Split } from './groups.js';
import type { LintDto } from './build-facts.dto.js';
import { lintFailed, Lints } from './lints.js';
import { recipeOf } from './recipe.js';

const BUILD_EXPORT = auditAction('build.export');

/** Of desirable to undesirable examples, or the other way: beyond it TRL's documentation asks for weights. */
const MAX_IMBALANCE = 4 / 3;
/** Builds that a process hands on at once: an export that is not for ART holds a group. */
const AT_ONCE = 3;

/** Hands builds to trainers: as training jobs, or as files. */
@Injectable()
export class BuildOutputsService {
  private readonly slots = new Slots(AT_ONCE);
  private readonly logger = new Logger('audit');

  constructor(
    private readonly database: Database,
    private readonly jobs: TrainingJobsService,
  ) {}

  /**
   * Queues a training job with the training side of a build, and logs the evaluation side.
   * @throws Busy when too many builds are handed on
   */
  submit(body: BuildSubmitDto, caller: Caller): Promise<BuildSubmittedDto> {
    return this.slots.with(this.database.key(), () => this.submitNow(body, caller));
  }

  private async submitNow(body: BuildSubmitDto, caller: Caller): Promise<BuildSubmittedDto> {
    const { project_id: projectId, build_id: buildId, model_id: modelId } = body;
    const build = await this.find(projectId, buildId);
    const { experimental_config: config } = recipeOf(JSON.parse(build.recipe), 'recipe').train;
    const bodyOf = (split: Split) => this.bodyOf(build, { projectId, split });
    const { id } = await this.jobs.submit(
      {
        projectId,
        modelId,
        train: bodyOf('train'),
        evaluation: bodyOf('eval'),
        config: config && JSON.stringify(config),
      },
      caller,
      async (job) => {
        await this.database.query(builderLock(projectId)); // an erasing has either ended, or will find the job
        await this.find(projectId, buildId);
        await this.database.query(jobInsert(projectId, buildId, job));
      },
    );
    return { job_id: id };
  }

  /** The groups of one side as the member `trajectory_groups` of a body; empty when there are none. */
  private async *bodyOf(
    build: BuildRow,
    { projectId, split }: { projectId: string; split: Split },
  ): AsyncGenerator<Buffer> {
    let isFirst = true;
    const turn = new Turn();
    for await (const piece of elementsOf(this.chunksOf(projectId, build, split))) {
      if (isFirst) yield Buffer.from('{"trajectory_groups":[');
      isFirst = false;
      if (turn.isOver) await turn.next();
      yield piece;
    }
    if (!isFirst) yield Buffer.from(']}');
  }

  /**
   * An export in pieces, and the lints of its format.
   * @throws ApiError when one of these is an error by the recipe, Busy when too many builds are handed on
   */
  async export(body: BuildExportDto, by: Caller): Promise<{ pieces: Readable; lints: LintDto[] }> {
    const { project_id: projectId, build_id, format, split, min_reward, min_margin } = body;
    const build = await this.find(projectId, build_id);
    const options = { minReward: min_reward ?? null, minMargin: min_margin ?? 0 };
    const lints = await this.exportLints(build, body, options);
    const errors = lints.filter(({ level }) => level === 'error');
    if (errors.length > 0) throw lintFailed(lints, errors);
    const chunks = this.chunksOf(projectId, build, split ?? 'all');
    const pieces =
      format === 'art' ? bytesOf(chunks) : piecesOf(exportRows(format, linesOf(chunks), options));
    const slot = await this.slots.take(this.database.key());
    const detail = { format, split: split ?? 'all' };
    const event = { action: BUILD_EXPORT, by, projectId, target: build_id, detail };
    // a database that only answers is read all the same
    await addEventAlone(this.database, event).catch((error: unknown) => this.logger.warn(error));
    return { pieces: this.watch(pieces, slot), lints };
  }

  /** Frees the slot when the reader has read or left. A reader that takes nothing is cut, sooner while another key waits. */
  private watch(pieces: AsyncIterable<Buffer>, slot: Slot): Readable {
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

  private async exportLints(
    { id, recipe }: BuildRow,
    { project_id: projectId, format, split: side }: BuildExportDto,
    { minReward, minMargin: margin }: ExportOptions,
  ): Promise<LintDto[]> {
    const lints = new Lints(recipeOf(JSON.parse(recipe), 'recipe').lints);
    const split = side ?? 'all';
    if (format === 'openai-dpo' || format === 'trl-dpo') {
      const [ties] = await this.database.query(tiesQuery(projectId, id, { split, margin }));
      lints.note('dpo_tie', ties!.examples, ties!.count);
    } else if (format === 'trl-kto') {
      const [labels] = await this.database.query(labelsQuery(projectId, id, { split, minReward }));
      const { good, bad } = labels!;
      if (Math.max(good, bad) > MAX_IMBALANCE * Math.min(good, bad))
        lints.note('kto_imbalance', [], Math.abs(good - bad));
    }
    return lints.list;
  }

  /** Read some at a time: a slow reader holds no connection. @throws Error when the build was erased meanwhile */
  private async *chunksOf(
    projectId: string,
    { id, num_chunks }: BuildRow,
    split: Split | 'all',
  ): AsyncGenerator<Chunk> {
    for (let seq = -1; seq < num_chunks - 1;) {
      const chunks = await this.database.query(chunksQuery(projectId, id, seq));
      if (chunks.length === 0) throw new Error('the build was erased while it was read');
      for (const chunk of chunks) if (split === 'all' || chunk.split === split) yield chunk;
      seq = chunks.at(-1)!.seq;
    }
  }

  /** @throws ApiError `not_found`, or `conflict` when it was erased */
  private async find(projectId: string, id: string): Promise<BuildRow> {
    const [build] = await this.database.query(buildQuery(projectId, id));
    if (!build) throw new ApiError('not_found', 'there is no such build in the project');
    if (build.is_erased)
      throw new ApiError('conflict', 'the build was erased, because a call that went in was');
    return build;
  }
}
