import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/auth/caller.js';
import type { Context } from '../../platform/http/context.js';
import { ApiError, finalConflict } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { ConnectionSlots } from '../../platform/database/connection-slots.js';
import type { Sql } from '../../platform/query/sql.js';
import { EventLoopTurn } from '../../platform/time/event-loop-turn.js';
import { CallsService } from '../../tracing/calls/calls.service.js';
import { Checkpoint } from '../models/checkpoint.entity.js';
import type { Model } from '../models/model.entity.js';
import { ModelsService } from '../models/models.service.js';
import { Aliases } from './aliases.service.js';
import { judgeGate } from './gate-results.js';
import {
  checkpointShare,
  type GateReading,
  MAX_CALLS,
  sideQuery,
  type GateSideRow,
} from './gates.query.js';
import type {
  ModelAliasesQueryDto,
  GateDto,
  GateRequestDto,
  GateResultDto,
  PromoteDto,
  PromotedDto,
} from './promotion.dto.js';

const CURRENT = 'current';
/** Gates that a process runs at once. Each computes for up to one second. */
const AT_ONCE = 2;

/** Moves the alias `current` of models, by hand or after a gate. */
@Injectable()
export class PromotionService {
  private readonly slots = new ConnectionSlots(AT_ONCE);

  constructor(
    private readonly database: Database,
    private readonly models: ModelsService,
    private readonly calls: CallsService,
    private readonly aliases: Aliases,
  ) {}

  async promote(body: PromoteDto, context: Context): Promise<PromotedDto> {
    const { project_id: projectId, model_id: modelId, step, by_hand, gate: asked } = body;
    const { caller } = context;
    if (Boolean(by_hand) === Boolean(asked))
      throw new ApiError('invalid_request', 'exactly one of by_hand and gate is required');
    const model = await this.models.findIn(projectId, modelId, caller);
    const compared = await this.aliases.step(projectId, modelId, CURRENT);
    const gate =
      asked && compared !== step
        ? await this.judge(model, { step, against: compared ?? 0 }, asked, context)
        : null;
    if (gate && !gate.passed)
      throw finalConflict(`the gate is not passed: ${gate.reason}`, { gate });
    return this.database.transaction(async () => {
      await caller.assertValid();
      await this.models.lock(projectId, modelId);
      await this.assertSound(model, step);
      const key = { projectId, modelId, alias: CURRENT };
      const previousStep = await this.aliases.lock(key);
      if (gate && previousStep !== compared)
        throw finalConflict('the alias was moved while the gate was at work: promote again');
      if (previousStep !== step)
        await this.aliases.move(
          key,
          {
            step,
            previousStep,
            byHand: gate === null,
            gate: gate && JSON.stringify(storedGate(gate)),
          },
          caller,
        );
      return { model_id: modelId, alias: CURRENT, step, previous_step: previousStep, gate };
    });
  }

  /** Runs a gate for a step. Stores nothing. */
  async gate(body: GateRequestDto, context: Context): Promise<GateResultDto> {
    const { project_id: projectId, model_id: modelId, step, against_step, gate } = body;
    const model = await this.models.findIn(projectId, modelId, context.caller);
    const against = against_step ?? (await this.aliases.step(projectId, modelId, CURRENT)) ?? 0;
    return this.judge(model, { step, against }, gate, context);
  }

  async list({ project_id, model_id }: ModelAliasesQueryDto, caller: Caller): Promise<string> {
    const model = await this.models.findIn(project_id, model_id, caller);
    return this.aliases.list(project_id, model.id);
  }

  private async judge(
    model: Model,
    { step, against }: { step: number; against: number },
    gate: GateDto,
    context: Context,
  ): Promise<GateResultDto> {
    if (step === against)
      throw new ApiError('invalid_request', `step ${step} cannot be compared with itself`);
    const { projectId } = model;
    const reading = this.reading(projectId, gate);
    await this.assertThere(model, step);
    await this.assertThere(model, against);
    return this.slots.with(this.database.scope.owner, async () => {
      const side = (of: number) => this.readSide(reading, `${model.name}:step${of}`);
      const sides = await this.database.transaction({ long: 'read' }, async () => ({
        candidate: { step, rows: await side(step) },
        against: { step: against, rows: await side(against) },
      }));
      const turn = new EventLoopTurn();
      return judgeGate(sides, gate, async () => {
        if (!turn.isOver) return;
        await turn.next();
        if (context.signal.aborted) throw new ApiError('request_timeout', 'the client has left');
      });
    });
  }

  private reading(projectId: string, { filter, query, pair_by, score }: GateDto): GateReading {
    const field = (name: string, path: string): Sql => this.calls.field(projectId, name, path);
    const calls = { project_id: projectId, filter: filter ?? null, query: query ?? null };
    const type = score.feedback.replaceAll(/[\\.[]/g, String.raw`\$&`);
    return {
      projectId,
      condition: this.calls.condition(calls, 'gate'),
      keys: (pair_by ?? ['inputs.messages']).map((name, i) => field(name, `gate.pair_by[${i}]`)),
      score: field(`feedback.${type}.payload.${score.path}`, 'gate.score.path'),
    };
  }

  /** @throws ApiError `too_large` when the step has made more calls than a gate reads */
  private async readSide(reading: GateReading, model: string): Promise<GateSideRow[]> {
    const rows = await this.database.query(sideQuery(reading, model));
    if (rows.reduce((sum, { calls }) => sum + calls, 0) > MAX_CALLS)
      throw new ApiError(
        'too_large',
        `${model} has made more than ${MAX_CALLS} calls that match: narrow the filter of the gate`,
      );
    return rows;
  }

  private async assertThere({ projectId, id }: Model, step: number): Promise<void> {
    const where = { projectId, modelId: id, step };
    if (!(await this.database.repository(Checkpoint).existsBy(where))) throw noCheckpoint(step);
  }

  /**
   * Protects the checkpoint from changes until the end of the transaction.
   * @throws ApiError when the checkpoint does not exist, or is tainted
   */
  private async assertSound({ projectId, id }: Model, step: number): Promise<void> {
    const [found] = await this.database.query(checkpointShare(projectId, id, step));
    if (!found) throw noCheckpoint(step);
    if (found.is_tainted)
      throw finalConflict(`step ${step} was trained on calls that have been purged since`);
  }
}

const noCheckpoint = (step: number) =>
  new ApiError('not_found', `the model has no checkpoint of step ${step}`);

const storedGate = ({ passed, against_step, rows_paired, statistics }: GateResultDto) => ({
  passed,
  against_step,
  rows_paired,
  statistics,
});
