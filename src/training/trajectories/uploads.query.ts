// SQL: bodies arrive and leave as streams.
import { join, sql, type Sql } from '../../platform/query/sql.js';
import type { TrajectoryRow } from './trajectory-reader.js';

export const chunkInsert = (project: string, batch: string, seq: number, text: Buffer) => sql`
  INSERT INTO body_chunks (project_id, batch_id, seq, text) VALUES (${project}, ${batch}, ${seq}, ${text})`;

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
