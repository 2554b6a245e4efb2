// SQL for bodies that arrive and are read as streams.
import { join, sql, type Sql } from '../../platform/query/sql.js';
import type { PayloadChunk } from '../payload-cutter.js';
import type { TrajectoryRow } from './trajectory-reader.js';

export const chunkInsert = (
  project: string,
  batch: string,
  seq: number,
  { text, groupsBefore }: PayloadChunk,
) => sql`
  INSERT INTO body_chunks (project_id, batch_id, seq, text, groups_before)
  VALUES (${project}, ${batch}, ${seq}, ${text}, ${groupsBefore})`;

export function trajectoriesInsert(project: string, batch: string, rows: TrajectoryRow[]): Sql {
  const values = rows.map(
    (
      row,
    ) => sql`(${project}, ${row.id}::uuid, ${batch}::uuid, ${row.groupIndex}::int, ${row.trajectoryIndex}::int,
      ${row.numTokens}::int, ${row.isOpaque}::boolean, ${row.reward}::float8, ${row.startTime}::timestamptz, ${row.document}::json)`,
  );
  return sql`INSERT INTO trajectories (project_id, id, batch_id, group_index, trajectory_index, num_tokens, is_opaque,
    reward, start_time, document) VALUES ${join(values)}`;
}

/** Deletes the trajectories of groups that a repeated key has repealed. */
export const groupsRepeal = (project: string, batch: string, groups: number[]) => sql`
  DELETE FROM trajectories
  WHERE project_id = ${project} AND batch_id = ${batch} AND group_index = ANY(${groups}::int[])`;

export const trajectoriesDelete = (project: string, batches: string[]) =>
  sql`DELETE FROM trajectories WHERE project_id = ${project} AND batch_id = ANY(${batches}::uuid[])`;

export const chunksDelete = (project: string, batches: string[]) =>
  sql`DELETE FROM body_chunks WHERE project_id = ${project} AND batch_id = ANY(${batches}::uuid[])`;

export const payloadChunks = (project: string, batch: string, seq: number) => sql<{
  seq: number;
  text: Buffer;
}>`
  SELECT seq, text FROM body_chunks
  WHERE project_id = ${project} AND batch_id = ${batch} AND seq > ${seq} ORDER BY seq LIMIT 4`;

export const payloadChunk = (project: string, batch: string, seq: number) => sql<{
  seq: number;
  text: Buffer;
}>`
  SELECT seq, text FROM body_chunks
  WHERE project_id = ${project} AND batch_id = ${batch} AND seq > ${seq} ORDER BY seq LIMIT 1`;

/** Finds the chunk of the payload that contains the byte `at`, and the number of bytes before the chunk. */
export const chunkAtByte = (project: string, batch: string, at: number) => sql<{
  seq: number;
  before: number;
}>`
  SELECT seq, before::float8 FROM (
    SELECT seq, sum(octet_length(text)) OVER (ORDER BY seq) - octet_length(text) AS before FROM body_chunks
    WHERE project_id = ${project} AND batch_id = ${batch}) c
  WHERE before <= ${at} ORDER BY seq DESC LIMIT 1`;

/**
 * Finds the last chunk that begins before the group, and the number of groups that end before it. Returns no row when
 * `groups_before` is not known.
 */
export const chunkBeforeGroup = (project: string, batch: string, group: number) => sql<{
  seq: number;
  groups_before: number;
}>`
  SELECT seq, groups_before FROM body_chunks
  WHERE project_id = ${project} AND batch_id = ${batch} AND groups_before < ${group} ORDER BY seq DESC LIMIT 1`;
