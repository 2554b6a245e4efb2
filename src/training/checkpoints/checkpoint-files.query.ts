// SQL for parts that may be sent twice, lists of parts, and bytes that are read as streams.
import { sql, type Sql } from '../../platform/query/sql.js';

export interface FileKey {
  projectId: string;
  jobId: string;
  /** SHA-256 of the file. */
  file: string;
}

/** Returns a row unless the part exists already. */
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

/** Deletes the parts of jobs except the given files, and returns the uploads that contain their bytes. */
export const partsDeleteBut = (
  projectId: string,
  jobs: string[],
  kept: string[],
): Sql<{ upload_id: string }> => sql`
  DELETE FROM checkpoint_parts
  WHERE project_id = ${projectId} AND job_id = ANY(${jobs}::uuid[]) AND file <> ALL(${kept}::text[]) RETURNING upload_id`;

/** Deletes files of a job, and returns the uploads that contain their bytes. */
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

export const chunksQuery = (project: string, upload: string, from: number) => sql<{
  seq: number;
  bytes: Buffer;
}>`
  SELECT seq, bytes FROM checkpoint_chunks
  WHERE project_id = ${project} AND upload_id = ${upload} AND seq >= ${from} ORDER BY seq LIMIT 2`;
