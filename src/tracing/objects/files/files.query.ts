// SQL: bytes arrive and leave as streams, and equal files are stored once.
import { sql } from '../../../platform/query/sql.js';

/** Stores a file of at most one chunk, unless the project has it. */
export const insertSmallFileQuery = (
  file: { projectId: string; digest: string; uploadId: string },
  bytes: Buffer,
) => sql`
  WITH file AS (${insertFileQuery(file, bytes.length)})
  INSERT INTO file_chunks (project_id, upload_id, chunk_index, bytes)
  SELECT ${file.projectId}, upload_id, 0, ${bytes}::bytea FROM file`;

/** Stores a file. Returns a row when it is new to the project. Waits for an uncommitted upload of the same bytes. */
export const insertFileQuery = (
  { projectId, digest, uploadId }: { projectId: string; digest: string; uploadId: string },
  sizeBytes: number,
) => sql`
  INSERT INTO files (project_id, digest, upload_id, size_bytes)
  VALUES (${projectId}, ${digest}, ${uploadId}::uuid, ${sizeBytes}::int)
  ON CONFLICT DO NOTHING RETURNING upload_id`;

export const insertChunkQuery = (
  projectId: string,
  uploadId: string,
  index: number,
  bytes: Buffer,
) => sql`
  INSERT INTO file_chunks (project_id, upload_id, chunk_index, bytes)
  VALUES (${projectId}, ${uploadId}, ${index}, ${bytes})`;

/** Reads a file with its first chunk. */
export const fileQuery = (projectId: string, digest: string) => sql<{
  upload_id: string;
  size_bytes: number;
  bytes: Buffer | null;
}>`
  SELECT f.upload_id, f.size_bytes, c.bytes FROM files f
  LEFT JOIN file_chunks c ON c.project_id = f.project_id AND c.upload_id = f.upload_id AND c.chunk_index = 0
  WHERE f.project_id = ${projectId} AND f.digest = ${digest}`;

export const chunkQuery = (projectId: string, uploadId: string, index: number) => sql<{
  bytes: Buffer;
}>`
  SELECT bytes FROM file_chunks
  WHERE project_id = ${projectId} AND upload_id = ${uploadId} AND chunk_index = ${index}`;
