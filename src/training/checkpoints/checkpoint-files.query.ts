// SQL: parts that may come twice, lists of them, and bytes that leave as streams.
import { sql, type Sql } from '../../platform/query/sql.js';

/** A file that a job's trainer has sent. */
export interface FileKey {
  projectId: string;
  jobId: string;
  /** Its digest. */
  file: string;
}

/** Answers a row unless the part is there already. */
export const partInsert = (
  { projectId, jobId, file }: FileKey,
  { part, uploadId, sizeBytes }: { part: number; uploadId: string; sizeBytes: number },
) => sql`
  INSERT INTO checkpoint_parts (project_id, job_id, file, part, upload_id, size_bytes)
  VALUES (${projectId}, ${jobId}, ${file}, ${part}, ${uploadId}, ${sizeBytes})
  ON CONFLICT DO NOTHING RETURNING 1`;

export const partsCount = (projectId: string, jobId: string) => sql<{ parts: number }>`
  SELECT count(*)::int AS parts FROM checkpoint_parts WHERE project_id = ${projectId} AND job_id = ${jobId}`;

export interface FilePart {
  file: string;
  part: number;
  size_bytes: number;
}

export const partsQuery = (projectId: string, jobId: string) => sql<FilePart>`
  SELECT file, part, size_bytes FROM checkpoint_parts
  WHERE project_id = ${projectId} AND job_id = ${jobId} ORDER BY file, part`;

export interface StoredPart {
  part: number;
  upload_id: string;
  size_bytes: number;
}

export const partsOfFile = ({ projectId, jobId, file }: FileKey) => sql<StoredPart>`
  SELECT part, upload_id, size_bytes FROM checkpoint_parts
  WHERE project_id = ${projectId} AND job_id = ${jobId} AND file = ${file} ORDER BY part`;

/** Deletes what jobs have, but the files named, and answers the uploads that have the bytes. */
export const partsDeleteBut = (
  projectId: string,
  jobs: string[],
  kept: string[],
): Sql<{ upload_id: string }> => sql`
  DELETE FROM checkpoint_parts
  WHERE project_id = ${projectId} AND job_id = ANY(${jobs}::uuid[]) AND file <> ALL(${kept}::text[]) RETURNING upload_id`;

/** The same for files of a job. */
export const partsDelete = (
  projectId: string,
  jobId: string,
  files: string[],
): Sql<{ upload_id: string }> => sql`
  DELETE FROM checkpoint_parts
  WHERE project_id = ${projectId} AND job_id = ${jobId} AND file = ANY(${files}::text[]) RETURNING upload_id`;

export const chunkInsert = (project: string, upload: string, seq: number, bytes: Buffer) => sql`
  INSERT INTO checkpoint_chunks (project_id, upload_id, seq, bytes)
  VALUES (${project}, ${upload}, ${seq}, ${bytes})`;

/** The next chunks of a part, in order. */
export const chunksQuery = (project: string, upload: string, from: number) => sql<{
  seq: number;
  bytes: Buffer;
}>`
  SELECT seq, bytes FROM checkpoint_chunks
  WHERE project_id = ${project} AND upload_id = ${upload} AND seq >= ${from} ORDER BY seq LIMIT 2`;
