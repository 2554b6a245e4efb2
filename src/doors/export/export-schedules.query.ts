// SQL: the database compares files with the state of their rows, and decides by its clock which windows are closed.
import { projectLock } from '../../platform/database/advisory-locks.js';
import { wireTime } from '../../platform/query/columns.js';
import { sql, type Sql } from '../../platform/query/sql.js';
import { isShown } from '../../tracing/feedback-names.query.js';
import type { ExportDto } from './export.dto.js';

/** Held while the schedules of a project are counted and set. */
export const SETTING = projectLock(0x65787073);

/** Time after the end of a window in which late rows are awaited. Later ones cause another writing. */
const SETTLING = sql`interval '5 minutes'`;

const WINDOWS = {
  hour: { length: sql`interval '1 hour'`, path: `"day="YYYY-MM-DD"/hour-"HH24` },
  day: { length: sql`interval '1 day'`, path: `"day="YYYY-MM-DD"/day"` },
};
type WindowLength = keyof typeof WINDOWS;

export interface ScheduleName {
  project_id: string;
  name: string;
}

export interface StoredSchedule extends ScheduleName {
  kind: ExportDto['of'];
  format: ExportDto['format'];
  every: WindowLength | null;
  failures: number;
  request: Pick<ExportDto, 'filter' | 'query'> & { object_id?: string | null };
}

/** The text that identifies the rows of a file and how they are written; null if there are no rows. */
export interface PendingFile {
  path: string;
  print: string | null;
  /** Null for a table. */
  start: string | null;
  end: string | null;
}

export interface WrittenFile {
  path: string;
  start: string | null;
  end: string | null;
  rows: number;
  bytes: number;
  sha256: string;
  schema_version: number;
  written_at: string;
}

/** Most files that one run brings up to date. */
export const MOST_FILES = 500;

export interface DatabaseTime {
  at: string;
}

export const databaseTime = () => sql<DatabaseTime>`SELECT ${wireTime(sql`now()`)} AS at`;

export const MANIFEST = 'manifest.json';

/** Selects only the names, because requests may be large. */
export const dueSchedules = () => sql<ScheduleName>`
  SELECT s.project_id, s.name FROM export_schedules s WHERE s.retry_at <= now() ORDER BY s.project_id, s.name`;

export const scheduleNamed = ({ project_id, name }: ScheduleName) => sql<StoredSchedule>`
  SELECT s.project_id, s.name, s.kind, s.format, s.every, s.request, s.failures FROM export_schedules s
  WHERE s.project_id = ${project_id} AND s.name = ${name}`;

/** Selects schedules that were deleted, or erased with their project, and whose files are still there. */
export const orphanedFolders = () => sql<ScheduleName>`
  SELECT f.project_id, f.schedule AS name FROM exported_files f
  WHERE f.path = 'manifest.json'
    AND NOT EXISTS (SELECT FROM export_schedules s WHERE s.project_id = f.project_id AND s.name = f.schedule)
  ORDER BY f.project_id, f.schedule, f.path`;

/**
 * States of the calls of each window. The statistics of a slot are computed again after any of its calls has changed.
 * The sum of prices changes from the window on in which a price begins or is removed.
 */
const callPrints = (projectId: string, length: Sql) => sql`
  SELECT u.start, u.slots || '/' || u.prices AS print FROM (
    SELECT e.start, e.slots, sum(e.prices) OVER (ORDER BY e.start) AS prices FROM (
      SELECT date_bin(${length}, s.slot, 'epoch') AS start, 0 AS prices,
        count(*) || '.' || sum(extract(epoch FROM s.computed_at)) AS slots
      FROM call_slots s WHERE s.project_id = ${projectId} GROUP BY 1
      UNION ALL
      SELECT date_bin(${length}, p.effective_date, 'epoch'), sum(hashtext(p.id)), NULL
      FROM costs p WHERE p.project_id = ${projectId} GROUP BY 1) e) u
  WHERE u.slots IS NOT NULL`;

const feedbackPrints = (projectId: string, length: Sql) => sql`
  SELECT date_bin(${length}, f.created_at, 'epoch') AS start, count(*) || '.' || sum(hashtext(f.id)) AS print
  FROM feedback f WHERE f.project_id = ${projectId} AND ${isShown(projectId)} GROUP BY 1`;

/** Files of all closed windows with rows. `settings` changes with the schedule. */
export function windowFiles(
  { project_id, kind, format, every }: StoredSchedule,
  settings: string,
): Sql {
  const { length, path } = WINDOWS[every!];
  const prints = kind === 'calls' ? callPrints : feedbackPrints;
  return sql`SELECT to_char(w.start AT TIME ZONE 'UTC', ${`${path}".${format}"`}) AS path, w.start, w.start + ${length} AS "end",
      ${settings}::text || w.print AS print
    FROM (${prints(project_id, length)}) w WHERE w.start + ${length} + ${SETTLING} <= now()`;
}

/** The file of a table; without a print there is none. */
export const tableFile = (path: string, print: string | null) =>
  sql`SELECT t.path, NULL::timestamptz AS start, NULL::timestamptz AS "end", t.print
    FROM (SELECT ${path}::text AS path, ${print}::text AS print) t WHERE t.print IS NOT NULL`;

const compared = ({ project_id, name }: ScheduleName, files: Sql) =>
  sql`(${files}) w FULL JOIN (SELECT * FROM exported_files e WHERE e.project_id = ${project_id} AND e.schedule = ${name}
    AND e.path <> 'manifest.json') f
    ON f.path = w.path WHERE w.print IS DISTINCT FROM f.print`;

/** Selects files that differ from their rows and have rested. Those without rows come first, then the oldest. */
export const pendingFiles = (
  schedule: StoredSchedule,
  files: Sql,
  rest: number,
) => sql<PendingFile>`
  SELECT coalesce(w.path, f.path) AS path, w.print, ${wireTime(sql`w.start`)} AS start, ${wireTime(sql`w."end"`)} AS "end"
  FROM ${compared(schedule, files)} AND (f.written_at < now() - make_interval(secs => ${rest}::float8)) IS NOT FALSE
  ORDER BY w.print IS NULL DESC, w.start, 1 LIMIT ${MOST_FILES}::bigint`;

/** Counts files that differ from their rows. `behind_seconds` tells the age of the oldest window without a file. */
export const pendingCount = (schedule: StoredSchedule, files: Sql) => sql<{
  waiting: number;
  behind_seconds: number;
}>`
  SELECT count(*)::int AS waiting, coalesce(extract(epoch FROM now() - min(w."end") FILTER (WHERE coalesce(f.print, '') = '')), 0)::float8
    AS behind_seconds FROM ${compared(schedule, files)}`;

/** Notes a file before it is written, so that it is removed even if the process dies. */
export const fileBegin = (
  { project_id, name }: ScheduleName,
  { path, start, end }: Omit<PendingFile, 'print'>,
) => sql`
  INSERT INTO exported_files (project_id, schedule, path, window_start, window_end)
  VALUES (${project_id}, ${name}, ${path}, ${start}::timestamptz, ${end}::timestamptz)
  ON CONFLICT (project_id, schedule, path) DO NOTHING`;

/** Notes the manifest, by which the files of a schedule are found after it was deleted. */
export const manifestBegin = (projectId: string, name: string) =>
  fileBegin({ project_id: projectId, name }, { path: MANIFEST, start: null, end: null });

export const fileWritten = (
  { project_id, name }: StoredSchedule,
  { path, print }: PendingFile,
  file: WrittenFile | null,
) => sql`
  UPDATE exported_files SET print = ${print}, row_count = ${file?.rows ?? 0}::bigint, bytes = ${file?.bytes ?? 0}::bigint,
    sha256 = ${file?.sha256 ?? null}, schema_version = ${file?.schema_version ?? null}::int,
    written_at = ${file?.written_at ?? null}::timestamptz
  WHERE project_id = ${project_id} AND schedule = ${name} AND path = ${path}`;

/** Lists the complete files of a schedule for its manifest. */
export const listedFiles = (projectId: string, schedule: string) => sql<WrittenFile>`
  SELECT f.path, ${wireTime(sql`f.window_start`)} AS start, ${wireTime(sql`f.window_end`)} AS "end", f.row_count::float8 AS rows,
    f.bytes::float8 AS bytes, f.sha256, f.schema_version, ${wireTime(sql`f.written_at`)} AS written_at
  FROM exported_files f WHERE f.project_id = ${projectId} AND f.schedule = ${schedule} AND f.row_count > 0 ORDER BY f.path`;

export const filesTotal = (projectId: string, schedule: string) => sql<{
  files: number;
  rows: number;
  bytes: number;
  last_window_end: string | null;
}>`
  SELECT count(*) FILTER (WHERE f.row_count > 0)::int AS files, coalesce(sum(f.row_count), 0)::float8 AS rows,
    coalesce(sum(f.bytes), 0)::float8 AS bytes, ${wireTime(sql`max(f.window_end) FILTER (WHERE f.print <> '')`)} AS last_window_end
  FROM exported_files f WHERE f.project_id = ${projectId} AND f.schedule = ${schedule}`;

const LONGEST_WAIT = 3600;

/** Puts off the next try. The wait doubles with each failure, up to an hour. */
export function scheduleFailed(
  { project_id, name, failures }: StoredSchedule,
  reason: string,
  seconds: number,
): Sql {
  const wait = Math.min(LONGEST_WAIT, seconds * 2 ** failures);
  return sql`
    UPDATE export_schedules SET failures = ${failures + 1}::int, last_error = ${reason}, retry_at = now() + make_interval(secs => ${wait}::float8)
    WHERE project_id = ${project_id} AND name = ${name}`;
}

export const scheduleSucceeded = ({ project_id, name }: StoredSchedule) => sql`
  UPDATE export_schedules SET failures = 0, last_error = NULL
  WHERE project_id = ${project_id} AND name = ${name} AND failures > 0`;

/** Marks the files of a schedule as unknown, before they are removed. */
export const filesForget = (projectId: string, schedule: string) => sql<{ path: string }>`
  UPDATE exported_files SET print = '', row_count = 0 WHERE project_id = ${projectId} AND schedule = ${schedule} RETURNING path`;

export const filesDelete = ({ project_id, name }: ScheduleName, paths: readonly string[]) => sql`
  DELETE FROM exported_files WHERE project_id = ${project_id} AND schedule = ${name} AND path = ANY(${paths}::text[])`;

/** Deletes the rows of removed files, unless the schedule was set again meanwhile. Needs `SETTING`. */
export const folderDelete = ({ project_id, name }: ScheduleName) => sql`
  DELETE FROM exported_files WHERE project_id = ${project_id} AND schedule = ${name}
    AND NOT EXISTS (SELECT FROM export_schedules s WHERE s.project_id = ${project_id} AND s.name = ${name})`;
