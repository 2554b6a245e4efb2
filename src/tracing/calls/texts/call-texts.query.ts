import { projectLock } from '../../../platform/database/advisory-locks.js';
import type { MarkedStatistics } from '../../../platform/database/marks-refresher.js';
import { byteaArray, jsonArray, textArray } from '../../../platform/query/binary-array.js';
import { lookedUp } from '../../../platform/query/plans.js';
import { identifier, join, sql, type Sql } from '../../../platform/query/sql.js';
import { visibleIn } from '../../visible-calls.js';
import { DOCUMENTS as DOCUMENT_NAMES } from '../read/document-search.js';
import { SLOT } from '../stats/call-slots.query.js';
import { MERGED_BITS, type SegmentPart } from './text-segment.js';

export const MARKED_TEXTS: MarkedStatistics = {
  marks: sql`call_text_marks`,
  lock: projectLock(0x74657874),
  atOnce: 16_384,
  what: 'texts of calls',
};

/** Number of ids in a row of `call_text_ids`. Whoever needs one id reads the row. */
export const IDS_OF_ROW = 128;

/** Milliseconds since 1970, rounded down or up. */
const msBefore = (time: Sql) => sql`floor(extract(epoch FROM ${time}) * 1000)::float8`;
const msAfter = (time: Sql) => sql`ceil(extract(epoch FROM ${time}) * 1000)::float8`;
/** Times between which the calls of a segment or a row started. */
const bounds = (row: Sql) =>
  sql`${msBefore(sql`${row}.first_at`)} AS first, ${msAfter(sql`${row}.last_at`)} AS last`;

/** Deletes the oldest marks, with about so many calls, and returns them. */
export const marksTake = (projectId: string, calls: number) => sql<{
  slot: Date;
  call_ids: string[];
  is_erasing: boolean;
}>`
  DELETE FROM call_text_marks WHERE project_id = ${projectId} AND id = ANY(ARRAY(
    SELECT m.id FROM (
      SELECT m.id, sum(cardinality(m.call_ids)) OVER (ORDER BY m.id) - cardinality(m.call_ids) AS before
      FROM (SELECT m.* FROM call_text_marks m WHERE m.project_id = ${projectId} ORDER BY m.id LIMIT ${calls}::bigint) m) m
    WHERE m.before < ${calls}::bigint))
  RETURNING slot, call_ids, is_erasing`;

/** Marks calls, with their slots, for a later turn. `is_erasing` says that bytes of them were erased. */
export const marksInsert = (
  projectId: string,
  calls: readonly (readonly [string, Date])[],
  isErasing: boolean,
) => sql`
  INSERT INTO call_text_marks (project_id, slot, call_ids, is_erasing)
  SELECT ${projectId}, c.slot, array_agg(c.id), ${isErasing}::boolean
  FROM unnest(${textArray(calls.map(([id]) => id))}::text[], ${calls.map(([, slot]) => slot)}::timestamptz[]) AS c (id, slot)
  GROUP BY c.slot`;

/** Columns of plain texts that the index holds besides documents. */
export const TEXTS = ['display_name', 'op_name', 'exception'];
const NAMES = TEXTS.map(columnOfCall);
const DOCUMENTS = DOCUMENT_NAMES.map(columnOfCall);

function columnOfCall(name: string): Sql {
  return sql`c.${identifier(name)}`;
}

/** Bytes of a text or a document. Those of a compressed one are found by reading it. */
const bytesOf = (text: Sql) =>
  sql`coalesce(CASE WHEN pg_column_compression(${text}) IS NULL THEN pg_column_size(${text}) ELSE octet_length(${text}::text) END, 0)`;

/** Selects those of the calls that are visible, and the bytes of their texts. */
export const textSizes = (projectId: string, ids: readonly string[]) => sql<
  PlacedCall & { bytes: number }
>`
  SELECT c.id, c.started_at::text AS first_at, c.started_at::text AS last_at, c.bytes FROM unnest(${textArray(ids)}::text[]) t (id) ${lookedUp(
    sql`SELECT c.id, c.started_at, (${join([...NAMES, ...DOCUMENTS].map(bytesOf), ' + ')})::float8 AS bytes FROM calls c
      WHERE ${visibleIn(projectId)} AND c.id = t.id`,
    'c',
  )} ORDER BY c.started_at, c.id`;

export interface TextOfCall extends PlacedCall {
  names: string;
  documents: string;
}

export const textsOf = (projectId: string, ids: readonly string[]) => sql<TextOfCall>`
  SELECT c.* FROM unnest(${textArray(ids)}::text[]) WITH ORDINALITY t (id, place) ${lookedUp(
    sql`SELECT c.id, c.started_at::text AS first_at, c.started_at::text AS last_at, concat_ws(E'\n', ${join(NAMES)}) AS names,
      concat_ws(E'\n', ${join(DOCUMENTS.map((document) => sql`${document}::text`))}) AS documents
      FROM calls c WHERE ${visibleIn(projectId)} AND c.id = t.id`,
    'c',
  )} ORDER BY t.place`;

export interface TextSegment {
  segment: string;
  calls: number;
  bytes: number;
  bits: number;
  first_at: string;
  last_at: string;
}

export const segmentInsert = (projectId: string, made: Omit<TextSegment, 'segment'>) => sql<{
  segment: string;
}>`
  INSERT INTO call_text_segments (project_id, calls, bytes, bits, first_at, last_at)
  VALUES (${projectId}, ${made.calls}, ${made.bytes}, ${made.bits}, ${made.first_at}::timestamptz, ${made.last_at}::timestamptz)
  RETURNING segment`;

export const partsInsert = (
  projectId: string,
  segment: string,
  parts: readonly SegmentPart[],
) => sql`
  INSERT INTO call_text_parts (project_id, segment, part, bytes)
  SELECT ${projectId}, ${segment}::bigint, p.* FROM unnest(${parts.map(({ part }) => part)}::int[],
    ${byteaArray(parts.map(({ bytes }) => bytes))}::bytea[]) AS p (part, bytes)`;

/** A call of a segment, and times between which it started. */
export interface PlacedCall {
  id: string;
  first_at: string;
  last_at: string;
}

/** Returns the earliest and the latest time of calls. PostgreSQL prints times so that they sort as texts. */
export function timesOf(calls: readonly Omit<PlacedCall, 'id'>[]): Omit<PlacedCall, 'id'> {
  return {
    first_at: calls.map(({ first_at }) => first_at).reduce((a, b) => (a < b ? a : b)),
    last_at: calls.map(({ last_at }) => last_at).reduce((a, b) => (a > b ? a : b)),
  };
}

export const idsInsert = (projectId: string, segment: string, calls: readonly PlacedCall[]) => {
  const rows = Array.from({ length: Math.ceil(calls.length / IDS_OF_ROW) }, (_, row) =>
    calls.slice(row * IDS_OF_ROW, (row + 1) * IDS_OF_ROW),
  );
  const ids = rows.map((row) => JSON.stringify(row.map(({ id }) => id)));
  const times = rows.map(timesOf);
  return sql`
    INSERT INTO call_text_ids (project_id, segment, "row", ids, first_at, last_at)
    SELECT ${projectId}, ${segment}::bigint, r.* FROM unnest(${rows.map((_, row) => row)}::int[], ${jsonArray(ids)}::json[],
      ${times.map(({ first_at }) => first_at)}::timestamptz[], ${times.map(({ last_at }) => last_at)}::timestamptz[])
      AS r ("row", ids, first_at, last_at)`;
};

const SEGMENT = sql`s.segment::text, s.calls, s.bytes, s.bits, s.first_at::text, s.last_at::text`;

/** Selects segments that may hold calls of some slots, and when the first call of each started, in milliseconds. */
export const segmentsAt = (projectId: string, slots: readonly Date[]) => sql<
  TextSegment & { first: number }
>`
  SELECT ${SEGMENT}, ${msBefore(sql`s.first_at`)} AS first FROM call_text_segments s WHERE s.project_id = ${projectId} AND EXISTS (
    SELECT FROM unnest(${slots}::timestamptz[]) t (slot) WHERE s.first_at < t.slot + ${SLOT} AND s.last_at >= t.slot)
  ORDER BY s.first_at, s.segment`;

/** Selects segments with at most so many calls. */
export const smallSegments = (projectId: string, calls: number) => sql<TextSegment>`
  SELECT ${SEGMENT} FROM call_text_segments s
  WHERE s.project_id = ${projectId} AND s.calls <= ${calls}::int ORDER BY s.segment`;

export const idsOf = (projectId: string, segment: string) => sql<{
  ids: string[];
  first_at: string;
  last_at: string;
}>`
  SELECT i.ids, i.first_at::text, i.last_at::text FROM call_text_ids i WHERE i.project_id = ${projectId} AND i.segment = ${segment}::bigint ORDER BY i."row"`;

/** Selects the parts of segments in one of the 2 ** MERGED_BITS ranges of grams. */
export const partsIn = (projectId: string, segments: readonly TextSegment[], range: number) => sql<{
  segment: string;
  bytes: Buffer;
}>`
  SELECT s.segment::text, p.bytes
  FROM unnest(${segments.map(({ segment }) => segment)}::bigint[], ${segments.map(({ bits }) => bits - MERGED_BITS)}::int[]) AS s (segment, more)
  ${lookedUp(
    sql`SELECT p.part, p.bytes FROM call_text_parts p WHERE p.project_id = ${projectId} AND p.segment = s.segment
      AND p.part >= ${range}::int << s.more AND p.part < (${range}::int + 1) << s.more`,
    'p',
  )} ORDER BY s.segment, p.part`;

export const segmentsDelete = (projectId: string, segments: readonly string[]) =>
  ['call_text_parts', 'call_text_ids', 'call_text_segments'].map(
    (table) =>
      sql`DELETE FROM ${identifier(table)} WHERE project_id = ${projectId} AND segment = ANY(${segments}::bigint[])`,
  );

export const hasCalls = (projectId: string) => sql<{ has_calls: boolean }>`
  SELECT EXISTS (SELECT FROM calls WHERE project_id = ${projectId}) AS has_calls`;

export const allSegments = (projectId: string) => sql<{ segment: string }>`
  SELECT segment::text FROM call_text_segments WHERE project_id = ${projectId}`;

/** Most calls that wait for the index while it is used. A reader looks at each of them. */
export const MAX_WAITING = 20_000;

/** Counts the calls that wait, up to `MAX_WAITING`. */
export const waitingCount = (projectId: string) => sql<{ calls: number }>`
  SELECT coalesce(sum(cardinality(m.call_ids)), 0)::float8 AS calls
  FROM (SELECT m.call_ids FROM call_text_marks m WHERE m.project_id = ${projectId} LIMIT ${MAX_WAITING + 1}::bigint) m`;

export const marksOf = (projectId: string) => sql<{ call_ids: string[] }>`
  SELECT m.call_ids FROM call_text_marks m WHERE m.project_id = ${projectId}`;

/** Selects the start from which on all calls are indexed or marked. Infinity if no calls are. */
export const walkOf = (projectId: string) => sql<{ before: number }>`
  SELECT ${msAfter(sql`w.before`)} AS before
  FROM call_text_walks w WHERE w.project_id = ${projectId}`;

/** Milliseconds between which some calls started. */
export interface Times {
  first: number;
  last: number;
}

export interface SegmentTimes extends Times {
  segment: string;
  bits: number;
  calls: number;
}

/** Selects all segments. */
export const segmentTimes = (projectId: string) => sql<SegmentTimes>`
  SELECT s.segment::text, s.bits, s.calls, ${bounds(sql`s`)}
  FROM call_text_segments s WHERE s.project_id = ${projectId}`;

export interface PartKey {
  segment: string;
  part: number;
}

export const partsQuery = (projectId: string, keys: readonly PartKey[]) => sql<
  PartKey & { bytes: Buffer }
>`
  SELECT k.segment::text, k.part, p.bytes
  FROM unnest(${textArray(keys.map(({ segment }) => segment))}::text[]::bigint[], ${keys.map(({ part }) => part)}::int[]) AS k (segment, part)
  ${lookedUp(
    sql`SELECT p.bytes FROM call_text_parts p WHERE p.project_id = ${projectId} AND p.segment = k.segment AND p.part = k.part`,
    'p',
  )}`;

export interface IdsKey {
  segment: string;
  row: number;
}

/** Selects rows of ids without the ids. */
export const idTimes = (projectId: string, keys: readonly IdsKey[]) =>
  idsRows<IdsKey & Times>(projectId, keys, bounds(sql`i`));

export const idsQuery = (projectId: string, keys: readonly IdsKey[]) =>
  idsRows<IdsKey & { ids: string[] }>(projectId, keys, sql`i.ids`);

const idsRows = <Row>(projectId: string, keys: readonly IdsKey[], columns: Sql) => sql<Row>`
  SELECT k.segment::text, k."row", i.*
  FROM unnest(${textArray(keys.map(({ segment }) => segment))}::text[]::bigint[], ${keys.map(({ row }) => row)}::int[]) AS k (segment, "row")
  ${lookedUp(
    sql`SELECT ${columns} FROM call_text_ids i WHERE i.project_id = ${projectId} AND i.segment = k.segment AND i."row" = k."row"`,
    'i',
  )}`;

/** Selects a project whose older calls are not marked yet, if no marks of it wait. */
export const nextWalk = () => sql<{ project_id: string; before: string }>`
  SELECT w.project_id, w.before::text FROM call_text_walks w
  WHERE NOT EXISTS (SELECT FROM call_text_marks m WHERE m.project_id = w.project_id) LIMIT 1`;

/** Selects the start down to which the next `count` calls go. */
export const walkStep = (projectId: string, before: string, count: number) => sql<{
  until: string | null;
  calls: number;
}>`
  SELECT min(c.started_at)::text AS until, count(*)::int AS calls FROM (
    SELECT c.started_at FROM calls c WHERE ${visibleIn(projectId)} AND c.started_at < ${before}::timestamptz
    ORDER BY c.started_at DESC LIMIT ${count}::bigint) c`;

export const walkedMark = (projectId: string, from: string, before: string) => sql`
  INSERT INTO call_text_marks (project_id, slot, call_ids, is_erasing)
  SELECT ${projectId}, date_bin(${SLOT}, c.started_at, 'epoch'), array_agg(c.id), false FROM calls c
  WHERE ${visibleIn(projectId)} AND c.started_at >= ${from}::timestamptz AND c.started_at < ${before}::timestamptz GROUP BY 2`;

export const walkMove = (projectId: string, before: string) =>
  sql`UPDATE call_text_walks SET before = ${before}::timestamptz WHERE project_id = ${projectId}`;

export const walkEnd = (projectId: string) =>
  sql`DELETE FROM call_text_walks WHERE project_id = ${projectId}`;
