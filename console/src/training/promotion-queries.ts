import { queryOptions } from '@tanstack/react-query';
import { post, type RequestBody, type Schema } from '../api/client.ts';

export type Gate = NonNullable<RequestBody<'/models/promote'>['gate']>;
export type GateResult = Schema<'GateResultDto'>;
export type Move = Schema<'AliasMoveDto'>;

/** The alias that a promotion moves. */
export const CURRENT = 'current';

/** Reads the aliases of a model and their history, newest move first. */
export const aliasesQuery = (project_id: string, model_id: string) =>
  queryOptions({
    queryKey: ['aliases', project_id, model_id],
    queryFn: ({ signal }) => post('/models/aliases/query', { project_id, model_id }, { signal }),
  });

export const aliasesAt = (
  answer: { aliases: readonly { alias: string; step: number }[] } | undefined,
  step: number,
): string[] => (answer?.aliases ?? []).filter((one) => one.step === step).map(({ alias }) => alias);
