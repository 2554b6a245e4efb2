// SQL for training data: lists as JSON text.
import type { Caller } from '../../platform/auth/caller.js';
import { wireTime } from '../../platform/query/columns.js';
import { allOf, sql, type Sql } from '../../platform/query/sql.js';
import { type ListItem, PAGE_SIZE } from '../pages.js';
import { isAskedFor, isReached } from '../preview.query.js';
import type { TrainingDataQueryDto } from './sft.dto.js';

/** Prefix of the URL of training data; its id follows. */
export const DATA_URL = 'skein:///training-data/';

export const dataPage = (query: TrainingDataQueryDto, caller: Caller): Sql<ListItem> => sql`
  SELECT d.id, json_build_object('id', d.id, 'entity', split_part(d.project_id, '/', 1),
    'project', split_part(d.project_id, '/', 2), 'url', ${DATA_URL}::text || d.id, 'num_rows', d.num_rows,
    'size_bytes', d.size_bytes, 'sha256', d.sha256, 'created_at', ${wireTime(sql`d.created_at`)})::text AS json
  FROM training_data d
  WHERE ${allOf(
    isReached(sql`d.project_id`, caller),
    isAskedFor(sql`d.project_id`, query),
    query.after && sql`d.id > ${query.after}`,
  )}
  ORDER BY d.id LIMIT ${(query.limit ?? PAGE_SIZE) + 1}`;

/** Protects training data from deletion until the end of the transaction. Returns no row when it has been deleted. */
export const dataLock = (projectId: string, id: string) =>
  sql`SELECT 1 FROM training_data d WHERE d.project_id = ${projectId} AND d.id = ${id} FOR SHARE`;

export const jobsOfData = (projectId: string, url: string) => sql<{ id: string }>`
  SELECT j.id FROM training_jobs j WHERE j.project_id = ${projectId} AND j.training_data_url = ${url} ORDER BY j.id`;
