// SQL for training jobs: lists as JSON text, and a config that keeps its text.
import type { Caller } from '../../platform/auth/caller.js';
import {
  column,
  type Columns,
  jsonAt,
  orderBy,
  page,
  wireTime,
} from '../../platform/query/columns.js';
import { allOf, sql, type Sql } from '../../platform/query/sql.js';
import { type ListItem, PAGE_SIZE } from '../pages.js';
import { IS_OPEN, type JobRow } from './queue.query.js';
import type { TrainingJob } from './training-job.entity.js';
import type { TrainingJobsQueryDto, TrajectoriesQueryDto } from './training-jobs.dto.js';
import type { TrainingJobCreatedDto } from '../preview.dto.js';
import { isAskedFor, isReached, type ModelKey } from '../preview.query.js';

/** The source of an `sft` job, and the settings of a job as JSON texts. */
export type NewSftJob = Pick<TrainingJob, 'trainingDataUrl'> &
  Record<'config' | 'experimentalConfig', string | null>;

export type NewJob = NewSftJob &
  Pick<TrainingJob, 'id' | 'batchId' | 'kind' | 'userId' | 'retrainsJobId'>;

export const jobInsert = ({ projectId, id: modelId }: ModelKey, job: NewJob) => sql`
  INSERT INTO training_jobs (project_id, id, model_id, batch_id, user_id, kind, training_data_url, config,
    experimental_config, retrains_job_id)
  VALUES (${projectId}, ${job.id}, ${modelId}, ${job.batchId}, ${job.userId}, ${job.kind}, ${job.trainingDataUrl},
    ${job.config}::json, ${job.experimentalConfig}::json, ${job.retrainsJobId})`;

/**
 * Finds the job of the model that has not ended and was sent with the same body. Looks up each batch by its key: a
 * join may read all batches of the model for each job.
 */
export const findOpenJob = (
  { projectId, id }: ModelKey,
  bodySha256: Buffer,
) => sql<TrainingJobCreatedDto>`
  SELECT j.id FROM training_jobs j
  WHERE j.project_id = ${projectId} AND j.model_id = ${id} AND ${IS_OPEN}
    AND (SELECT b.body_sha256 FROM trajectory_batches b WHERE b.project_id = ${projectId} AND b.id = j.batch_id) = ${bodySha256}
  ORDER BY j.id LIMIT 1`;

/** Finds the `sft` job that has not ended and has the same rows. Configs are compared as text. */
export const findSameSftJob = (
  { projectId, id }: ModelKey,
  rowsSha256: Buffer,
  { trainingDataUrl, config, experimentalConfig }: NewSftJob,
) => sql<TrainingJobCreatedDto>`
  SELECT j.id FROM training_jobs j
  WHERE j.project_id = ${projectId} AND j.model_id = ${id} AND ${IS_OPEN} AND j.training_data_url = ${trainingDataUrl}
    AND coalesce(j.config::text, '') = coalesce(${config}::text, '')
    AND coalesce(j.experimental_config::text, '') = coalesce(${experimentalConfig}::text, '')
    AND (SELECT b.body_sha256 FROM trajectory_batches b WHERE b.project_id = ${projectId} AND b.id = j.batch_id) = ${rowsSha256}
  ORDER BY j.id LIMIT 1`;

/**
 * Finds the job of the model that repeats the training of another one. The job has not ended, or has made a step that
 * is not tainted.
 */
export const findRetrain = (
  { projectId, id }: ModelKey,
  jobId: string,
) => sql<TrainingJobCreatedDto>`
  SELECT j.id FROM training_jobs j
  WHERE j.project_id = ${projectId} AND j.model_id = ${id} AND j.retrains_job_id = ${jobId}
    AND (${IS_OPEN} OR (j.status = 'succeeded' AND j.tainted_at IS NULL))
  ORDER BY j.id LIMIT 1`;

/** Selects jobs as JSON text. The batch of a job is deleted with its model; its counts are null then. */
const asJson = (condition: Sql, order = sql``) => sql<ListItem>`
  SELECT t.id, row_to_json(t)::text AS json FROM (
    SELECT j.id, j.model_id, j.kind, j.status, ${wireTime(sql`j.created_at`)} AS created_at,
      ${wireTime(sql`j.started_at`)} AS started_at, ${wireTime(sql`j.finished_at`)} AS finished_at, j.error_message,
      j.attempt, j.cancel_requested_at IS NOT NULL AS cancel_requested, b.num_groups, b.num_trajectories,
      j.training_data_url, j.config, j.experimental_config, CASE WHEN j.status = 'succeeded' THEN j.step IS NOT NULL END AS made_step, j.no_step_reason,
      CASE WHEN c.step IS NOT NULL THEN
        json_build_object('step', c.step, 'uri', c.uri, 'sha256', c.sha256, 'size_bytes', c.size_bytes) END AS checkpoint
    FROM training_jobs j
    LEFT JOIN trajectory_batches b ON b.project_id = j.project_id AND b.id = j.batch_id
    LEFT JOIN checkpoints c ON c.project_id = j.project_id AND c.model_id = j.model_id AND c.step = j.step
    WHERE ${condition} ${order}) t`;

export const jobJson = (id: string, caller: Caller): Sql<ListItem> =>
  asJson(sql`j.id = ${id} AND ${isReached(sql`j.project_id`, caller)}`);

export function jobsPage(query: TrainingJobsQueryDto, caller: Caller): Sql<ListItem> {
  const isDescending = query.order === 'desc';
  return asJson(
    allOf(
      isReached(sql`j.project_id`, caller),
      isAskedFor(sql`j.project_id`, query),
      query.model_id && sql`j.model_id = ${query.model_id}`,
      query.status && sql`j.status = ${query.status}`,
      query.after && (isDescending ? sql`j.id < ${query.after}` : sql`j.id > ${query.after}`),
    ),
    sql`ORDER BY j.id ${isDescending ? sql`DESC` : sql`ASC`} LIMIT ${(query.limit ?? PAGE_SIZE) + 1}`,
  );
}

export const eventsPage = (
  { project_id, id }: JobRow,
  after: number,
  limit = PAGE_SIZE,
) => sql<ListItem>`
  SELECT e.id, json_build_object('id', e.id, 'type', e.type, 'data', e.data,
    'created_at', ${wireTime(sql`e.created_at`)})::text AS json
  FROM training_job_events e
  WHERE e.project_id = ${project_id} AND e.job_id = ${id} AND e.seq > ${after} AND NOT e.is_hidden
  ORDER BY e.seq LIMIT ${limit + 1}`;

const DOCUMENT = column.json(sql`t.document`, sql`t.is_opaque`);
const documentPath = (name: string) => (path: readonly string[]) =>
  path.length > 0 ? jsonAt(DOCUMENT, [name, ...path]) : undefined;

const FIELDS: Columns = {
  id: column.text(sql`t.id::text`, { isNotNull: true }),
  reward: column.number(sql`t.reward`),
  num_tokens: column.number(sql`t.num_tokens`, { isNotNull: true }),
  group_index: column.number(sql`t.group_index`, { isNotNull: true }),
  trajectory_index: column.number(sql`t.trajectory_index`, { isNotNull: true }),
  step: column.number(sql`b.step`, { isNotNull: true }),
  split: column.text(sql`b.split`),
  start_time: column.time(sql`t.start_time`, { isNotNull: true }),
  created_at: column.time(sql`b.created_at`, { isNotNull: true }),
  metrics: documentPath('metrics'),
  metadata: documentPath('metadata'),
};

/** Members that the service adds to a trajectory. They come last, because the last of two equal names counts. */
const SERVICE_MEMBERS = sql`json_build_object('id', t.id, 'model_id', b.model_id, 'job_id', b.job_id, 'split', b.split,
  'step', b.step, 'group_index', t.group_index, 'trajectory_index', t.trajectory_index, 'num_tokens', t.num_tokens,
  'created_at', ${wireTime(sql`b.created_at`)})::text`;

/** Selects trajectories of a model in the form that `WholeTrajectories` reads, by default in the order of arrival. */
export const trajectoriesQuery = ({ projectId, id }: ModelKey, query: TrajectoriesQueryDto) => sql`
  SELECT concat_ws(E'\\n', b.id, t.group_index, t.trajectory_index, ${SERVICE_MEMBERS}, t.document::text) AS row
  FROM trajectory_batches b
  JOIN trajectories t ON t.project_id = b.project_id AND t.batch_id = b.id
  WHERE ${allOf(
    sql`b.project_id = ${projectId} AND b.model_id = ${id}`,
    query.split && sql`b.split = ${query.split}`,
    query.job_id && sql`b.job_id = ${query.job_id}`,
    typeof query.step === 'number' && sql`b.step = ${query.step}`,
  )}
  ${orderBy(FIELDS, query.sort_by, 'id')}
  ${page(query)}`;
