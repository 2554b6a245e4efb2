// SQL: bodies arrive and leave as streams.
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

/** What a repeated key took back: the trajectories of some groups. */
export const groupsRepeal = (project: string, batch: string, groups: number[]) => sql`
  DELETE FROM trajectories
  WHERE project_id = ${project} AND batch_id = ${batch} AND group_index = ANY(${groups}::int[])`;

/** What a repeated key took back: all of them. */
export const trajectoriesDelete = (project: string, batches: string[]) =>
  sql`DELETE FROM trajectories WHERE project_id = ${project} AND batch_id = ANY(${batches}::uuid[])`;

export const chunksDelete = (project: string, batches: string[]) =>
  sql`DELETE FROM body_chunks WHERE project_id = ${project} AND batch_id = ANY(${batches}::uuid[])`;

/** The next payload chunks of a batch behind `seq`, in order. */
export const payloadChunks = (project: string, batch: string, seq: number) => sql<{
  seq: number;
  text: Buffer;
}>`
  SELECT seq, text FROM body_chunks
  WHERE project_id = ${project} AND batch_id = ${batch} AND seq > ${seq} ORDER BY seq LIMIT 4`;

/** The next payload chunk of a batch behind `seq`. */
export const payloadChunk = (project: string, batch: string, seq: number) => sql<{
  seq: number;
  text: Buffer;
}>`
  SELECT seq, text FROM body_chunks
  WHERE project_id = ${project} AND batch_id = ${batch} AND seq > ${seq} ORDER BY seq LIMIT 1`;

/** The chunk of the payload that has the byte `at`, and how many bytes stand before it. */
export const chunkAtByte = (project: string, batch: string, at: number) => sql<{
  seq: number;
  before: number;
}>`
  SELECT seq, before::float8 FROM (
    SELECT seq, sum(octet_length(text)) OVER (ORDER BY seq) - octet_length(text) AS before FROM body_chunks
    WHERE project_id = ${project} AND batch_id = ${batch}) c
  WHERE before <= ${at} ORDER BY seq DESC LIMIT 1`;

/** The last chunk that begins before the group, and how many groups end before it. No row where that is not known. */
export const chunkBeforeGroup = (project: string, batch: string, group: number) => sql<{
  seq: number;
  groups_before: number;
}>`
  SELECT seq, groups_before FROM body_chunks
  WHERE project_id = ${project} AND batch_id = ${batch} AND groups_before < ${group} ORDER BY seq DESC LIMIT 1`;
