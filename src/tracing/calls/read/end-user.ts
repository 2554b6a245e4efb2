// SQL: the user whom an application served by a call.
import { computedOnce, lookedUp, unseen } from '../../../platform/query/plans.js';
import { identifier, join, sql, type Sql } from '../../../platform/query/sql.js';
import { USER_ATTRIBUTES, USER_INPUTS, USER_METADATA } from '../../end-users.js';
import { visibleIn } from '../../visible-calls.js';

const MAX_USER = 256;
/** Calls above a call that are asked. */
const MAX_LEVELS = 32;

/** A text or a number; no other value names a user, nor does a blank or what programs print for none. MLflow's texts are JSON. */
const plain = (value: Sql) =>
  sql`CASE WHEN ${value} !~ '^\\s*([[{]|$|(null|None|undefined)$)' THEN nullif(regexp_replace(${value}, '^"(.*)"$', '\\1'), '') END`;

const members = (document: Sql, names: readonly string[], rest = sql``) => {
  const columns = names.map((name) => sql`${identifier(name)} text`);
  return sql`json_to_record(${document}) AS a (${join(columns)}${rest})`;
};
const namedBy = (names: readonly string[]) =>
  names.map((name) => plain(sql`a.${identifier(name)}`));

/** A document of the call `c` that PostgreSQL can take apart; an empty one where it is no object. */
const safe = (name: Sql) => sql`CASE WHEN json_typeof(c.${name}) <> 'object' THEN '{}'
  WHEN c.is_opaque THEN skein_safe_json(c.${name}) ELSE c.${name} END`;

const asObject = (document: Sql) =>
  sql`CASE WHEN json_typeof(${document}) = 'object' THEN ${document} ELSE '{}' END`;

/** A member of metadata that are a text, as JSON or Python print them. */
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

/** The user whom the call `c` names itself. Most name none, which their texts tell without being taken apart. */
const OWN_END_USER = sql`coalesce(
  CASE WHEN c.attributes::text ~ '[uU]ser|customer|u00' THEN ${userOfAttributes} END,
  CASE WHEN c.inputs::text ~ '"(?:user|safety_identifier|user_id)"|u00' THEN ${userOfInputs} END)`;

/** The user whom the call `c` names, or else the nearest call above it in its trace. */
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

/** The user whom the first of the calls of the trace of `r` names, of so many that are looked at. */
export const endUserOfTrace = (projectId: string, calls: number): Sql => sql`(
    SELECT left(u.name, ${MAX_USER}::int) FROM (
      SELECT c.attributes, c.inputs, c.is_opaque, c.started_at, c.id FROM calls c WHERE ${visibleIn(projectId)} AND c.trace_id = r.trace_id
      ORDER BY c.started_at, c.id LIMIT ${calls}::bigint) c ${lookedUp(sql`SELECT ${OWN_END_USER} AS name`, 'u')}
    WHERE u.name IS NOT NULL ORDER BY c.started_at, c.id LIMIT 1)`;
