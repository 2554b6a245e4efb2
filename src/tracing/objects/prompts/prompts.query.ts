// SQL: a version is read with its labels and the tags of its prompt, and versions are grouped by their prompt.
import { page } from '../../../platform/query/columns.js';
import { allOf, sql, type Sql } from '../../../platform/query/sql.js';
import { isSelectedVersion } from '../objects.query.js';
import { MAX_PROMPT_BYTES, type PromptsQueryDto } from './prompts.dto.js';
import { aliasOf, promptObjectId } from './prompt-name.js';

/** The base class that SDKs give to all prompts. */
const IS_PROMPT = sql`v.base_object_class = 'Prompt'`;

const TIME = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
const time = (value: Sql) => sql`to_char(${value} AT TIME ZONE 'UTC', ${TIME})`;

/** The tags of a prompt are those of its newest version. */
const tagsOf = (projectId: string, objectId: Sql) => sql`
  ARRAY(SELECT t.tag FROM object_versions n JOIN object_tags t
      ON t.project_id = ${projectId} AND t.object_id = n.object_id AND t.version_index = n.version_index
    WHERE n.project_id = ${projectId} AND n.object_id = ${objectId} AND n.is_latest ORDER BY t.tag)`;

export interface PromptRow {
  version_index: number;
  digest: string;
  leaf_object_class: string | null;
  is_latest: boolean;
  created_at: string;
  user_id: string | null;
  /** Null for a value over the limit. */
  val: string | null;
  aliases: string[];
  tags: string[];
}

/** Reads one live version of a prompt. `word` selects it as in `/obj/read`. */
export const promptQuery = (projectId: string, objectId: string, word: string) => sql<PromptRow>`
  SELECT v.version_index, v.digest, v.leaf_object_class, v.is_latest, ${time(sql`v.created_at`)} AS created_at, v.user_id,
    CASE WHEN v.size_bytes <= ${MAX_PROMPT_BYTES}::int THEN v.val::text END AS val,
    ARRAY(SELECT a.alias FROM object_aliases a WHERE a.project_id = ${projectId} AND a.object_id = ${objectId}
      AND a.version_index = v.version_index ORDER BY a.alias) AS aliases,
    ${tagsOf(projectId, sql`v.object_id`)} AS tags
  FROM object_versions v
  WHERE v.project_id = ${projectId} AND v.object_id = ${objectId} AND v.deleted_at IS NULL AND ${IS_PROMPT}
    AND ${isSelectedVersion(projectId, objectId, word)}`;

/** Reads the digest of the newest version, and the tags of the prompt. */
export const latestQuery = (projectId: string, objectId: string) => sql<{
  digest: string;
  tags: string[];
}>`
  SELECT v.digest, ${tagsOf(projectId, sql`v.object_id`)} AS tags FROM object_versions v
  WHERE v.project_id = ${projectId} AND v.object_id = ${objectId} AND v.is_latest`;

/** Reads the class of the newest version of a name, and the index that its next version gets. */
export const nextVersionQuery = (projectId: string, objectId: string) => sql<{
  next: number;
  class: string | null;
  is_live: boolean;
}>`
  SELECT coalesce(max(v.version_index) + 1, 0) AS next, coalesce(bool_or(v.is_latest), false) AS is_live,
    max(v.leaf_object_class) FILTER (WHERE v.is_latest) AS class
  FROM object_versions v WHERE v.project_id = ${projectId} AND v.object_id = ${objectId}`;

export interface ListedPrompt {
  object_id: string;
  versions: number[];
  updated_at: string;
  leaf_object_class: string | null;
  aliases: string[];
  is_latest: boolean;
  tags: string[];
}

const isMatch = (query: PromptsQueryDto): Sql =>
  allOf(
    sql`v.project_id = ${query.project_id} AND v.deleted_at IS NULL`,
    IS_PROMPT,
    query.name && sql`v.object_id = ${promptObjectId(query.name)}`,
    query.from && sql`v.created_at >= ${query.from}::timestamptz`,
    query.to && sql`v.created_at < ${query.to}::timestamptz`,
    query.tag && sql`${query.tag} = ANY(${tagsOf(query.project_id, sql`v.object_id`)})`,
    query.label === 'latest' && sql`v.is_latest`,
    query.label &&
      query.label !== 'latest' &&
      sql`EXISTS (SELECT FROM object_aliases a WHERE a.project_id = ${query.project_id} AND a.object_id = v.object_id
        AND a.version_index = v.version_index AND a.alias = ${aliasOf(query.label)})`,
  );

/** Reads a page of prompts, ordered by the ids of their objects. */
export const promptsQuery = (query: PromptsQueryDto) => sql<ListedPrompt>`
  SELECT p.object_id, p.versions, ${time(sql`p.updated_at`)} AS updated_at, v.leaf_object_class, p.is_latest,
    ARRAY(SELECT a.alias FROM object_aliases a WHERE a.project_id = ${query.project_id} AND a.object_id = p.object_id
      AND a.version_index = ANY(p.versions) ORDER BY a.alias) AS aliases,
    ${tagsOf(query.project_id, sql`p.object_id`)} AS tags
  FROM (
    SELECT v.object_id, array_agg(v.version_index ORDER BY v.version_index DESC) AS versions,
      max(v.created_at) AS updated_at, bool_or(v.is_latest) AS is_latest
    FROM object_versions v WHERE ${isMatch(query)}
    GROUP BY v.object_id ORDER BY v.object_id ${page({ limit: query.limit ?? 10, offset: query.offset })}) p
  JOIN object_versions v ON v.project_id = ${query.project_id} AND v.object_id = p.object_id
    AND v.version_index = p.versions[1]
  ORDER BY p.object_id`;

export const promptCountQuery = (query: PromptsQueryDto) => sql<{ total: number }>`
  SELECT count(DISTINCT v.object_id)::int AS total FROM object_versions v WHERE ${isMatch(query)}`;

/** Reads the name of a prompt that has one of these texts in a live version, if there is one. */
export const promptsWith = (projectId: string, exceptObjectId: string, texts: string[]) => sql<{
  object_id: string;
}>`
  SELECT v.object_id FROM object_versions v
  WHERE v.project_id = ${projectId} AND v.deleted_at IS NULL AND ${IS_PROMPT} AND v.object_id <> ${exceptObjectId}
    AND v.size_bytes <= ${MAX_PROMPT_BYTES}::int
    AND EXISTS (SELECT FROM unnest(${texts}::text[]) AS t (text) WHERE strpos(v.val::text, t.text) > 0)
  LIMIT 1`;
