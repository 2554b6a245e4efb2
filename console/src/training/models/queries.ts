import { queryOptions } from '@tanstack/react-query';
import { post, type RequestBody, type Schema, send } from '../../api/client.ts';
import { keys } from '../../api/keys.ts';
import { formatJson } from '../../json/json-format.ts';
import { indexJson } from '../../json/json-indexer.ts';
import { newestFirst } from '../queries.ts';

export type Checkpoint = Schema<'ModelCheckpointDto'>;

export type Gate = NonNullable<RequestBody<'/models/promote'>['gate']>;
export type GateResult = Schema<'GateResultDto'>;
export type Move = Schema<'AliasMoveDto'>;

/** The alias that a promotion moves. */
export const CURRENT = 'current';

/** Reads the aliases of a model and their history, newest move first. */
export const aliasesQuery = (project_id: string, model_id: string) =>
  queryOptions({
    queryKey: keys.aliases(project_id, model_id),
    queryFn: ({ signal }) => post('/models/aliases/query', { project_id, model_id }, { signal }),
  });

export const aliasesAt = (
  answer: { aliases: readonly { alias: string; step: number }[] } | undefined,
  step: number,
): string[] => (answer?.aliases ?? []).filter((one) => one.step === step).map(({ alias }) => alias);

export const checkpointsQuery = (modelId: string) =>
  newestFirst('/v1/preview/models/{id}/checkpoints', { id: modelId });

export type CheckpointDetail = Schema<'CheckpointWithFilesDto'>;
export type CheckpointFile = Schema<'ManifestFileDto'>;

const checkpointPath = (modelId: string, step: number) =>
  `/v1/preview/models/${modelId}/checkpoints/${step}`;

/** Reads a checkpoint with its files. Its config stays the text that the trainer sent. */
export const checkpointQuery = (modelId: string, step: number) =>
  queryOptions({
    queryKey: keys.checkpoint(modelId, step),
    queryFn: async ({ signal }) => {
      const response = await send('GET', checkpointPath(modelId, step), { signal });
      const index = await indexJson(await response.text(), signal);
      const config = index.member(0, 'config')!;
      return {
        checkpoint: JSON.parse(index.text) as CheckpointDetail,
        config: index.kind(config) === 'object' ? formatJson(index, config) : null,
      };
    },
  });

/** The path of a file's bytes. A `Range` header selects a part. */
export const filePath = (modelId: string, step: number, name: string) =>
  `${checkpointPath(modelId, step)}/file?name=${encodeURIComponent(name)}`;
