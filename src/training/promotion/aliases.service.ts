import { Injectable } from '@nestjs/common';
import { type Actor, addEvent, auditAction } from '../../platform/audit/add-event.js';
import { finalConflict } from '../../platform/errors.js';
import { Database } from '../../platform/database/database.js';
import { MODELS } from '../models/model.entity.js';
import {
  type AliasKey,
  aliasesList,
  aliasesOfSteps,
  aliasesRetire,
  aliasLock,
  aliasSet,
  moveInsert,
  movesList,
  type NewMove,
} from './aliases.query.js';
import { ModelAliasMove } from './model-alias-move.entity.js';
import { ModelAlias } from './model-alias.entity.js';

const PROMOTE = auditAction('models.promote');
const ROLL_BACK = auditAction('models.roll_back');
const RETIRE = auditAction('models.retire');

/** Reads and moves the aliases of models. Each move is stored in the history and in the audit log. */
@Injectable()
export class Aliases {
  constructor(private readonly database: Database) {}

  async step(projectId: string, modelId: string, alias: string): Promise<number | null> {
    const where = { projectId, modelId, alias };
    const found = await this.database.repository(ModelAlias).findOneBy(where);
    return found?.step ?? null;
  }

  /** Returns the step of an alias, and locks it until the end of the transaction. The caller has locked the model. */
  async lock(key: AliasKey): Promise<number | null> {
    const [found] = await this.database.query(aliasLock(key));
    return found?.step ?? null;
  }

  /** Moves an alias that the caller has locked. */
  async move(
    key: AliasKey,
    move: Omit<NewMove, 'movedBy' | 'reason'> & { step: number },
    by: Actor,
  ): Promise<void> {
    const { step, previousStep, byHand, gate } = move;
    const [moved] = await this.database.query(
      moveInsert(key, { ...move, movedBy: by.userName, reason: null }),
    );
    await this.database.query(aliasSet(key, step, moved!.seq));
    await addEvent(this.database, {
      action: previousStep !== null && step < previousStep ? ROLL_BACK : PROMOTE,
      by,
      projectId: key.projectId,
      target: key.modelId,
      detail: {
        alias: key.alias,
        step,
        previous_step: previousStep,
        by_hand: byHand,
        ...(gate !== null && { gate: JSON.parse(gate) as object }),
      },
    });
    this.database.changes.note(key.projectId, MODELS);
  }

  /** Deletes the aliases of the given steps, and records why. Runs in the transaction of the caller. */
  async retire(
    { projectId, modelId, steps }: { projectId: string; modelId: string; steps: number[] },
    by: Actor,
    reason: string,
  ): Promise<void> {
    for (const { alias, step } of await this.database.query(
      aliasesRetire(projectId, modelId, steps),
    )) {
      const move = { step: null, previousStep: step, byHand: false, gate: null };
      await this.database.query(
        moveInsert({ projectId, modelId, alias }, { ...move, movedBy: by.userName, reason }),
      );
      const detail = { alias, previous_step: step, reason };
      await addEvent(this.database, { action: RETIRE, by, projectId, target: modelId, detail });
    }
  }

  /** @throws ApiError `conflict` that names the alias of one of the steps */
  async assertNone(projectId: string, modelId: string, steps: readonly number[]): Promise<void> {
    const [found] = await this.database.query(aliasesOfSteps(projectId, modelId, steps));
    if (found)
      throw finalConflict(
        `step ${found.step} has the alias ${found.alias}: promote another step first`,
      );
  }

  async drop(projectId: string, modelId: string): Promise<void> {
    await this.database.repository(ModelAlias).delete({ projectId, modelId });
    await this.database.repository(ModelAliasMove).delete({ projectId, modelId });
  }

  async list(projectId: string, modelId: string): Promise<string> {
    const aliases = await this.database.query(aliasesList(projectId, modelId));
    const moves = await this.database.query(movesList(projectId, modelId));
    return `{"aliases":[${joined(aliases)}],"history":[${joined(moves)}]}`;
  }
}

const joined = (rows: { json: string }[]) => rows.map(({ json }) => json).join(',');
