import { queryOptions } from '@tanstack/react-query';
import { post, type RequestBody, type Schema } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Problem } from '../api/problem.ts';

export type Retention = Schema<'RetentionAnswerDto'>;
export type Hold = Schema<'LegalHoldAnswerDto'>;
export type NewHold = RequestBody<'/retention/hold'>;

export const CLASSES = ['calls_days', 'payload_days', 'feedback_days'] as const;
/** A class of data, by the name of its days in a policy. */
export type DataClass = (typeof CLASSES)[number];

const DAY_MS = 86_400_000;
/** Counting stops here. */
export const MOST_COUNTED = 10_000;

export const retentionQuery = (project: string) =>
  queryOptions({
    queryKey: keys.retention(project),
    queryFn: ({ signal }) => post('/retention/read', { project_id: project }, { signal }),
  });

/** Counts the calls, or the feedback, that are older than so many days. Disabled without days. */
export const olderQuery = (project: string, of: DataClass, days: number | null) =>
  queryOptions({
    queryKey: keys.olderData(project, of, days),
    enabled: days !== null,
    queryFn: async ({ signal }) => {
      const time = new Date(Date.now() - days! * DAY_MS).toISOString();
      const older = (field: string) => ({
        project_id: project,
        query: { $expr: { $lt: [{ $getField: field }, { $literal: time }] } },
      });
      if (of === 'feedback_days') {
        const request = { ...older('created_at'), fields: ['id'], limit: 1 };
        return (await post('/feedback/query', request, { signal })).total_count;
      }
      const request = { ...older('started_at'), limit: MOST_COUNTED };
      return (await post('/calls/query_stats', request, { signal })).count;
    },
  });

/** Returns the error of the service at a field of the request. */
export const faultAt = (error: unknown, path: string): string | undefined =>
  error instanceof Problem
    ? error.violations.find((violation) => violation.path === path)?.message
    : undefined;

/** True for an error that no field of the request shows. */
export const isElsewhere = (error: unknown, paths: readonly string[]): boolean =>
  error !== null && paths.every((path) => faultAt(error, path) === undefined);
