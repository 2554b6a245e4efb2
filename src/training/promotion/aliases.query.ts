// SQL for aliases. The INSERT of a move numbers it, and lists are JSON text.
import { wireTime } from '../../platform/query/columns.js';
import { sql } from '../../platform/query/sql.js';
import type { ModelAlias } from './model-alias.entity.js';
import type { ModelAliasMove } from './model-alias-move.entity.js';

export type AliasKey = Pick<ModelAlias, 'projectId' | 'modelId' | 'alias'>;

const isAlias = ({ projectId, modelId, alias }: AliasKey) =>
  sql`project_id = ${projectId} AND model_id = ${modelId} AND alias = ${alias}`;

/** Reads and locks the step of an alias until the end of the transaction. */
export const aliasLock = (key: AliasKey) =>
  sql<{ step: number }>`SELECT step FROM model_aliases WHERE ${isAlias(key)} FOR UPDATE`;

/** A move to store. The result of the gate is JSON text. */
export type NewMove = Pick<
  ModelAliasMove,
  'step' | 'previousStep' | 'movedBy' | 'byHand' | 'reason'
> & { gate: string | null };

/** Inserts a move. Its time is the start of the statement: the transaction may have waited for the alias. */
export const moveInsert = (key: AliasKey, move: NewMove) => sql<{ seq: number }>`
  INSERT INTO model_alias_moves (project_id, model_id, alias, seq, step, previous_step, moved_at, moved_by, by_hand, gate, reason)
  SELECT ${key.projectId}, ${key.modelId}::uuid, ${key.alias},
    1 + coalesce((SELECT max(seq) FROM model_alias_moves WHERE ${isAlias(key)}), 0),
    ${move.step}::int, ${move.previousStep}::int, statement_timestamp(), ${move.movedBy}, ${move.byHand}::boolean, ${move.gate}::json, ${move.reason}
  RETURNING seq`;

export const aliasSet = (key: AliasKey, step: number, seq: number) => sql`
  INSERT INTO model_aliases (project_id, model_id, alias, step, seq)
  VALUES (${key.projectId}, ${key.modelId}, ${key.alias}, ${step}, ${seq})
  ON CONFLICT (project_id, model_id, alias) DO UPDATE SET step = excluded.step, seq = excluded.seq`;

export const aliasesRetire = (projectId: string, modelId: string, steps: readonly number[]) => sql<{
  alias: string;
  step: number;
}>`
  DELETE FROM model_aliases
  WHERE project_id = ${projectId} AND model_id = ${modelId} AND step = ANY(${steps}::int[]) RETURNING alias, step`;

export const aliasesOfSteps = (
  projectId: string,
  modelId: string,
  steps: readonly number[],
) => sql<{ alias: string; step: number }>`
  SELECT alias, step FROM model_aliases
  WHERE project_id = ${projectId} AND model_id = ${modelId} AND step = ANY(${steps}::int[]) ORDER BY alias`;

export const aliasesList = (projectId: string, modelId: string) => sql<{ json: string }>`
  SELECT json_build_object('alias', a.alias, 'step', a.step, 'moved_at', ${wireTime(sql`m.moved_at`)},
    'moved_by', m.moved_by, 'by_hand', m.by_hand)::text AS json
  FROM model_aliases a
  JOIN model_alias_moves m ON m.project_id = ${projectId} AND m.model_id = a.model_id AND m.alias = a.alias AND m.seq = a.seq
  WHERE a.project_id = ${projectId} AND a.model_id = ${modelId} ORDER BY a.alias`;

const MAX_MOVES = 200;

export const movesList = (projectId: string, modelId: string) => sql<{ json: string }>`
  SELECT json_build_object('alias', alias, 'step', step, 'previous_step', previous_step,
    'moved_at', ${wireTime(sql`moved_at`)}, 'moved_by', moved_by, 'by_hand', by_hand, 'gate', gate, 'reason', reason)::text AS json
  FROM model_alias_moves WHERE project_id = ${projectId} AND model_id = ${modelId}
  ORDER BY moved_at DESC, seq DESC, alias LIMIT ${MAX_MOVES}`;
