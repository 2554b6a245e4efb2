import { computedOnce, lookedUp, unseen } from '../../../platform/query/plans.js';
import { identifier, join, sql, type Sql } from '../../../platform/query/sql.js';
import { USER_ATTRIBUTES, USER_INPUTS, USER_METADATA } from '../../end-users.js';
import { visibleIn } from '../../visible-calls.js';

const MAX_USER = 256;
const MAX_LEVELS = 32;

/**
 * Returns a text or a number. NULL for any other value, for a blank text, and for what programs print for no value.
 * MLflow's texts are JSON.
 */
const plain = (value: Sql) =>
  sql`CASE WHEN ${value} !~ '^\\s*([[{]|$|(null|None|undefined)$)' THEN nullif(regexp_replace(${value}, '^"(.*)"$', '\\1'), '') END`;

const members = (document: Sql, names: readonly string[], rest = sql``) => {
  const columns = names.map((name) => sql`${identifier(name)} text`);
  return sql`json_to_record(${document}) AS a (${join(columns)}${rest})`;
};
const namedBy = (names: readonly string[]) =>
  names.map((name) => plain(sql`a.${identifier(name)}`));

/** Returns a document of the call `c` that PostgreSQL can parse, or an empty object if the document is no object. */
const safe = (name: Sql) => sql`CASE WHEN json_typeof(c.${name}) <> 'object' THEN '{}'
  WHEN c.is_opaque THEN skein_safe_json(c.${name}) ELSE c.${name} END`;

const asObject = (document: Sql) =>
  sql`CASE WHEN json_typeof(${document}) = 'object' THEN ${document} ELSE '{}' END`;

/** Finds a user id in metadata that is a text, as JSON or Python prints it. */
const printedUserId = (text: Sql) =>
  sql`substring(${text} from ${`["'](?:${USER_METADATA.join('|')})["']: ?["']?([^"'\\\\,}]{1,255})`}::text)`;

const userOfAttributes = sql`(SELECT coalesce(${join([
  ...namedBy(USER_ATTRIBUTES),
  sql`(SELECT coalesce(${join(namedBy(USER_METADATA))}) FROM ${members(asObject(sql`a.metadata`), USER_METADATA)})`,
  sql`CASE WHEN json_typeof(a.metadata) = 'string' THEN ${plain(printedUserId(sql`a.metadata #>> '{}'`))} END`,
  sql`(SELECT ${plain(sql`a.id`)} FROM ${members(asObject(sql`a."user"`), ['id'])})`,
])}) FROM ${members(safe(sql`attributes`), USER_ATTRIBUTES, sql`, metadata json, "user" json`)})`;

const userOfInputs = sql`(SELECT coalesce(${join([
  ...namedBy(USER_INPUTS),
  sql`(SELECT ${plain(sql`a.user_id`)} FROM ${members(asObject(sql`a.metadata`), ['user_id'])})`,
])}) FROM ${members(safe(sql`inputs`), USER_INPUTS, sql`, metadata json, model text`)} WHERE a.model IS NOT NULL)`;

/**
 * The end user that the call `c` names itself. Most calls name none: a regular expression finds that without parsing
 * their texts.
 */
const OWN_END_USER = sql`coalesce(
  CASE WHEN c.attributes::text ~ '[uU]ser|customer|u00' THEN ${userOfAttributes} END,
  CASE WHEN c.inputs::text ~ '"(?:user|safety_identifier|user_id)"|u00' THEN ${userOfInputs} END)`;

/** Returns the end user that the call `c` names, else the one that the nearest call above it in its trace names. */
export const endUser = (projectId: string): Sql => sql`(
  WITH RECURSIVE up AS (
    SELECT o.*, 1 AS level FROM ${computedOnce(sql`SELECT c.parent_id, c.trace_id, ${OWN_END_USER} AS name`, 'o')}
    UNION ALL
    SELECT p.*, up.level + 1 FROM up ${lookedUp(
      sql`SELECT c.parent_id, c.trace_id, ${OWN_END_USER} AS name FROM calls c
        WHERE ${visibleIn(projectId)} AND c.id = up.parent_id AND ${unseen(sql`c.trace_id = up.trace_id`)}`,
      'p',
    )} WHERE up.name IS NULL AND up.level < ${MAX_LEVELS}::int)
  SELECT left(up.name, ${MAX_USER}::int) FROM up WHERE up.name IS NOT NULL LIMIT 1)`;

/** Returns the end user that the first call of the trace of `r` names. Reads at most `calls` calls. */
export const endUserOfTrace = (projectId: string, calls: number): Sql => sql`(
    SELECT left(u.name, ${MAX_USER}::int) FROM (
      SELECT c.attributes, c.inputs, c.is_opaque, c.started_at, c.id FROM calls c WHERE ${visibleIn(projectId)} AND c.trace_id = r.trace_id
      ORDER BY c.started_at, c.id LIMIT ${calls}::bigint) c ${lookedUp(sql`SELECT ${OWN_END_USER} AS name`, 'u')}
    WHERE u.name IS NOT NULL ORDER BY c.started_at, c.id LIMIT 1)`;
