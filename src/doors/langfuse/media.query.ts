// Plain SQL: the announced values may change until the bytes are uploaded.
import { sql, type Sql } from '../../platform/query/sql.js';
import type { Media } from './media.entity.js';

/** Stores a media file unless its bytes are uploaded already. Returns the stored row. */
export const announceMediaQuery = ({
  projectId,
  id,
  contentType,
  sizeBytes,
  sha256,
  secret,
}: Omit<Media, 'digest' | 'uploadedAt'>): Sql<{
  size_bytes: number;
  sha256: string;
  secret: Buffer;
  is_here: boolean;
}> => sql`
  INSERT INTO media AS m (project_id, id, content_type, size_bytes, sha256, secret)
  VALUES (${projectId}, ${id}, ${contentType}, ${sizeBytes}::int, ${sha256}, ${secret}::bytea)
  ON CONFLICT (project_id, id) DO UPDATE SET
    content_type = CASE WHEN m.digest IS NULL THEN excluded.content_type ELSE m.content_type END,
    size_bytes = CASE WHEN m.digest IS NULL THEN excluded.size_bytes ELSE m.size_bytes END,
    sha256 = CASE WHEN m.digest IS NULL THEN excluded.sha256 ELSE m.sha256 END
  RETURNING m.size_bytes, m.sha256, m.secret, m.digest IS NOT NULL AS is_here`;

/** Sets the file of a media row. Only the first upload has an effect. */
export const keepMediaQuery = ({
  projectId,
  id,
  sha256,
  digest,
}: Pick<Media, 'projectId' | 'id' | 'sha256'> & { digest: string }): Sql => sql`
  UPDATE media SET digest = ${digest}, uploaded_at = now()
  WHERE project_id = ${projectId} AND id = ${id} AND sha256 = ${sha256} AND digest IS NULL`;
