// SQL: a million rows move between tables without passing through this process.
import { sql } from '../../platform/query/sql.js';
import type { NewRow } from '../objects/tables/tables.service.js';

/** Characters of a row digest. */
export const DIGEST_LENGTH = 43;

/** The rows of an upload. */
export interface StagedRows {
  projectId: string;
  uploadId: string;
}

export const importRowsInsert = (
  { projectId, uploadId }: StagedRows,
  first: number,
  rows: readonly NewRow[],
) => sql`
  INSERT INTO dataset_import_rows (project_id, upload_id, digest, seq, is_opaque, val)
  SELECT ${projectId}, ${uploadId}::uuid, r.digest, ${first}::int + r.n::int, r.is_opaque, r.val::json
  FROM unnest(${rows.map(({ digest }) => digest)}::text[], ${rows.map(({ isOpaque }) => isOpaque)}::boolean[],
    ${rows.map(({ val }) => val)}::text[]) WITH ORDINALITY AS r (digest, is_opaque, val, n)
  ON CONFLICT DO NOTHING`;

/** Stores the rows of an upload that the project does not have, in the order of their digests, as tables do. */
export const importedRowsInsert = ({ projectId, uploadId }: StagedRows) => sql`
  INSERT INTO table_rows (project_id, digest, is_opaque, val)
  SELECT s.project_id, s.digest, s.is_opaque, s.val FROM dataset_import_rows s
  WHERE s.project_id = ${projectId} AND s.upload_id = ${uploadId}::uuid ORDER BY s.digest
  ON CONFLICT DO NOTHING`;

/**
 * Stores the table that has the rows of table `base`, if it is given, and then those of an upload that are new to it.
 * Does nothing when no row is new. Rows are grouped and not joined, because the planner knows nothing about the rows of
 * an upload. The project of the new row is a column, as Citus demands.
 */
export const importedTableInsert = (
  { projectId, uploadId }: StagedRows,
  base: string | null,
) => sql<{ digest: string; rows: number }>`
  INSERT INTO tables AS stored (project_id, digest, row_digests)
  SELECT made.project_id, encode(sha256(made.row_digests), 'hex'), made.row_digests FROM (
    SELECT fresh.project_id, coalesce((SELECT t.row_digests FROM tables t WHERE t.project_id = ${projectId} AND t.digest = ${base}), ''::bytea)
      || convert_to(string_agg(fresh.digest, '' ORDER BY fresh.seq), 'UTF8') AS row_digests
    FROM (
      SELECT r.project_id, r.digest, min(r.seq) AS seq FROM (
        SELECT s.project_id, s.digest, s.seq FROM dataset_import_rows s WHERE s.project_id = ${projectId} AND s.upload_id = ${uploadId}::uuid
        UNION ALL
        SELECT t.project_id, convert_from(substring(t.row_digests FROM n * ${DIGEST_LENGTH}::int + 1 FOR ${DIGEST_LENGTH}::int), 'UTF8'), NULL
        FROM tables t, generate_series(0, octet_length(t.row_digests) / ${DIGEST_LENGTH}::int - 1) n
        WHERE t.project_id = ${projectId} AND t.digest = ${base}) r
      GROUP BY r.project_id, r.digest HAVING count(*) = count(r.seq)) fresh GROUP BY fresh.project_id) made
  ON CONFLICT (project_id, digest) DO UPDATE SET row_digests = stored.row_digests
  RETURNING digest, octet_length(row_digests) / ${DIGEST_LENGTH}::int AS rows`;

/** Marks the sources of rows that a dataset does not have any more, after the rows of an upload have replaced it. */
export const replacedSources = ({ projectId, uploadId }: StagedRows, objectId: string) => sql`
  UPDATE dataset_row_sources s SET removed_at = now()
  WHERE s.project_id = ${projectId} AND s.object_id = ${objectId} AND s.removed_at IS NULL AND NOT EXISTS (
    SELECT FROM dataset_import_rows r
    WHERE r.project_id = ${projectId} AND r.upload_id = ${uploadId}::uuid AND r.digest = s.row_digest)`;

export const importRowsDelete = ({ projectId, uploadId }: StagedRows) => sql`
  DELETE FROM dataset_import_rows s WHERE s.project_id = ${projectId} AND s.upload_id = ${uploadId}::uuid`;
