import { createHash } from 'node:crypto';
import { pipeline, Readable, type Transform } from 'node:stream';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { storageAt } from '../../platform/backup/storage-location.js';
import { CONFIG, type Config } from '../../platform/config/config.js';
import { lock, oneLock, trySessionLock } from '../../platform/database/advisory-locks.js';
import { Database, type DedicatedConnection } from '../../platform/database/database.js';
import { Schedule } from '../../platform/database/schedule.js';
import { toApiError } from '../../platform/errors.js';
import { type JsonBatch, linesFrame, rowCount } from '../../platform/http/json-rows.js';
import { ownerEntity } from '../../platform/process/fair-queue.js';
import { logger } from '../../platform/process/logger.js';
import { registerCounter } from '../../platform/process/metrics.js';
import { groupBy } from '../../platform/query/grouping.js';
import type { Sql } from '../../platform/query/sql.js';
import { DatasetsService } from '../../tracing/datasets/datasets.service.js';
import { exported, SCHEMA_VERSION } from './export-columns.js';
import {
  databaseTime,
  type DatabaseTime,
  dueSchedules,
  fileBegin,
  filesDelete,
  filesForget,
  fileWritten,
  folderDelete,
  listedFiles,
  MANIFEST,
  MOST_FILES,
  orphanedFolders,
  type PendingFile,
  pendingFiles,
  scheduleFailed,
  type ScheduleName,
  scheduleNamed,
  scheduleSucceeded,
  SETTING,
  type StoredSchedule,
  tableFile,
  windowFiles,
  type WrittenFile,
} from './export-schedules.query.js';
import { ExportTarget, TargetFailure } from './export-target.js';
import { ExportService, inWindow } from './export.service.js';
import { ParquetFrame } from './parquet-frame.js';

/** Held by the one process that writes. */
const WRITER = oneLock(0x6578706f7274);

/** Time after which an entity lets others go on, unless one file takes longer. */
const TURN_MS = 20_000;
/** A file is not written again within the time of this many runs. Late rows often come one by one. */
const REST_RUNS = 5;

/** A part of the work of an entity. `run` returns true if time ran out before its end. */
interface ExportWork extends ScheduleName {
  run: (turn: Turn) => Promise<boolean>;
}

interface Turn {
  until: number;
  /** Fails when the lock is lost. */
  clock: () => Promise<DatabaseTime[]>;
}

/**
 * Writes exports by schedule. A file is written when its window is closed, and again when its rows have changed. The
 * database knows a file before it is written, and its state once the manifest lists it. So a kill leaves no gap and no
 * double.
 */
@Injectable()
export class ExportsKeeper implements OnApplicationBootstrap {
  /** Starts a run in the background. */
  look = (): void => {};
  /** The schedule with which the next turn of an entity begins. Without one, it begins with the first. */
  private readonly next = new Map<string, string>();
  private target: ExportTarget | undefined;
  @Inject(CONFIG) private readonly config!: Config;
  private readonly outcomes = registerCounter(
    'skein_exports_total',
    'Files of exports by schedule, by outcome.',
    ['outcome'],
  );

  constructor(
    private readonly database: Database,
    private readonly schedule: Schedule,
    private readonly exports: ExportService,
    private readonly datasets: DatasetsService,
  ) {}

  onApplicationBootstrap(): void {
    const { exportUrl, exportIntervalSeconds, s3 } = this.config;
    if (exportUrl !== undefined)
      this.target = new ExportTarget(storageAt(exportUrl, s3), this.schedule.signal);
    const everyMs = exportIntervalSeconds * 1000;
    this.look = this.schedule.every(everyMs, 'exports', () => this.work());
  }

  /** Returns the query of the files that a schedule should have now. */
  async wantedFiles(schedule: StoredSchedule): Promise<Sql> {
    const { project_id, kind, format, every, request } = schedule;
    const parts = [SCHEMA_VERSION, kind, format, every, request];
    const settings = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
    if (kind !== 'table') return windowFiles(schedule, `${settings}:`);
    const digest = await this.datasets.latestTable(project_id, request.object_id!);
    return tableFile(`rows.${format}`, digest ? `${settings}:${digest}` : null);
  }

  private async work(): Promise<void> {
    const works = await this.works((statement) => this.database.query(statement, { long: 'read' }));
    if (works.length > 0)
      await this.database.session((session) => this.settle(session), this.schedule.signal);
  }

  /** Returns what is to do for each deleted and each due schedule. */
  private async works(query: DedicatedConnection['query']): Promise<ExportWork[]> {
    const orphans = await query(orphanedFolders());
    const due = this.target ? await query(dueSchedules()) : [];
    return [
      ...orphans.map((one) => ({ ...one, run: (turn: Turn) => this.removeFolder(one, turn) })),
      ...due.map((one) => ({ ...one, run: (turn: Turn) => this.bringSchedule(one, turn) })),
    ];
  }

  /** Gives each entity a turn. The next one begins with the schedule for which there was no time. */
  private async settle({ query }: DedicatedConnection): Promise<void> {
    const [row] = await query(trySessionLock(WRITER));
    if (!row!.is_mine) return;
    const clock = () => query(databaseTime());
    let isMore = false;
    const works = groupBy(await this.works(query), ({ project_id }) => ownerEntity(project_id));
    for (const [entity, all] of works) {
      const until = performance.now() + TURN_MS;
      const first = Math.max(
        0,
        all.findIndex((one) => nameOf(one) === this.next.get(entity)),
      );
      this.next.delete(entity);
      for (const work of [...all.slice(first), ...all.slice(0, first)]) {
        if (performance.now() > until) {
          this.next.set(entity, nameOf(work));
          isMore = true;
          break;
        }
        await clock(); // a lost lock ends the run, and counts as a failure of no further schedule
        if (await work.run({ until, clock })) isMore = true;
      }
    }
    if (isMore) this.look();
  }

  /** Brings a schedule up to date. Returns true when its turn ends before. */
  private bringSchedule(due: ScheduleName, { until, clock }: Turn): Promise<boolean> {
    const { project_id, name } = due;
    const owner = () => `${ownerEntity(project_id)}/exports`;
    return this.database.scope.run({ owner, isUrgent: true }, async () => {
      const [schedule] = await this.database.query(scheduleNamed(due));
      if (!schedule) return false;
      try {
        const wanted = await this.wantedFiles(schedule);
        const rest = REST_RUNS * this.config.exportIntervalSeconds;
        const query = pendingFiles(schedule, wanted, rest);
        const pending = await this.database.query(query, { long: 'read' });
        for (const file of pending) {
          this.schedule.signal.throwIfAborted();
          const [now] = await clock();
          await this.bring(schedule, file, now!.at);
          if (performance.now() > until) return true;
        }
        await this.database.transaction(() => this.database.query(scheduleSucceeded(schedule)));
        return pending.length === MOST_FILES;
      } catch (error) {
        this.schedule.signal.throwIfAborted();
        await this.fail(schedule, error);
        logger.warn(
          { project_id, schedule: name, err: error },
          'an export by schedule has failed and will be tried again',
        );
        return false;
      }
    });
  }

  private async fail(schedule: StoredSchedule, error: unknown): Promise<void> {
    this.outcomes.inc({ outcome: 'failed' });
    const seconds = this.config.exportIntervalSeconds;
    const failed = scheduleFailed(schedule, plainReason(error), seconds);
    await this.database.transaction(() => this.database.query(failed));
  }

  /** Writes or removes a file, then the manifest, and then notes it. */
  private async bring(schedule: StoredSchedule, pending: PendingFile, at: string): Promise<void> {
    const { path, print } = pending;
    if (print !== null)
      await this.database.transaction(() => this.database.query(fileBegin(schedule, pending)));
    const written = print === null ? null : await this.write(schedule, pending, at);
    await this.writeManifest(schedule, path, written);
    if (!written) await this.target!.remove(pathOf(schedule, path));
    await this.database.transaction(async () => {
      if (print === null) await this.database.query(filesDelete(schedule, [path]));
      else await this.database.query(fileWritten(schedule, pending, written));
    });
    this.outcomes.inc({ outcome: written ? 'written' : 'removed' });
  }

  /** Writes a file by the code of `/export`. Returns null when no row matches; then it writes none. */
  private async write(
    schedule: StoredSchedule,
    file: PendingFile,
    at: string,
  ): Promise<WrittenFile | null> {
    const { project_id, kind, format, request } = schedule;
    const { path, start, end } = file;
    const digest = file.print!.slice(file.print!.indexOf(':') + 1);
    const all = { project_id, of: kind, format, ...request, ...(kind === 'table' && { digest }) };
    const { rows, columns } = await this.exports.rows(
      start === null ? all : inWindow(all, start, end!),
    );
    const owner = this.database.scope.owner;
    const frame =
      format === 'jsonl'
        ? linesFrame()
        : new ParquetFrame({ columns, schema: `${kind}/${SCHEMA_VERSION}`, owner });
    const source = new CountedRows(rows);
    const hash = createHash('sha256');
    try {
      if (!(await source.hasSome())) return null;
      pipeline(Readable.from(source, { highWaterMark: 1 }), frame, () => {}); // an error fails the frame
      const bytes = await this.target!.write(pathOf(schedule, path), hashed(frame, hash));
      const sha256 = hash.digest('hex');
      const made = { rows: source.count, bytes, sha256, schema_version: SCHEMA_VERSION };
      return { path, start, end, ...made, written_at: at };
    } catch (error) {
      throw source.failure ?? frame.errored ?? error;
    } finally {
      frame.destroy();
      rows.destroy();
    }
  }

  private async writeManifest(
    { project_id, name, kind, format, every }: StoredSchedule,
    path: string,
    written: WrittenFile | null,
  ): Promise<void> {
    const others = await this.database.query(listedFiles(project_id, name));
    const files = others.filter((file) => file.path !== path);
    if (written) files.push(written);
    files.sort((a, b) => (a.path < b.path ? -1 : 1));
    const columns = exported(kind).columns?.() ?? [];
    const facts = { project_id, name, of: kind, format, every, schema_version: SCHEMA_VERSION };
    const manifest = {
      ...facts,
      ...(columns.length > 0 && { columns: columns.map(({ name, type }) => ({ name, type })) }),
      files,
    };
    const text = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
    await this.target!.write(pathOf({ project_id, name }, MANIFEST), Readable.from([text]));
  }

  /** Removes the files of a schedule that was deleted, or erased with its project. Returns true if some are left. */
  private async removeFolder(folder: ScheduleName, { until }: Turn): Promise<boolean> {
    const { project_id, name } = folder;
    const { database } = this;
    const removed: string[] = [];
    try {
      const known = await database.transaction({ isUrgent: true }, () =>
        database.query(filesForget(project_id, name)),
      );
      // the manifest goes last: its row tells that files are left
      const paths = [
        ...known.map(({ path }) => path).filter((path) => path !== MANIFEST),
        MANIFEST,
      ];
      for (const path of paths) {
        if (performance.now() > until) break;
        await this.target?.remove(pathOf(folder, path));
        removed.push(path);
      }
      const isLast = removed.length === paths.length;
      await database.transaction({ isUrgent: true, lock: lock(SETTING, project_id) }, () =>
        database.query(isLast ? folderDelete(folder) : filesDelete(folder, removed)),
      );
      this.outcomes.inc({ outcome: 'removed' }, removed.length);
      return !isLast;
    } catch (error) {
      this.schedule.signal.throwIfAborted();
      this.outcomes.inc({ outcome: 'failed' });
      const message = 'the files of a deleted export were not removed, which is tried again';
      logger.warn({ project_id, schedule: name, err: error }, message);
      return false;
    }
  }
}

const nameOf = ({ project_id, name }: ScheduleName) => `${project_id}/${name}`;

/** Project and schedule are names that the rules of the API allow, so no path leads elsewhere. */
const pathOf = (schedule: ScheduleName, path: string) => `${nameOf(schedule)}/${path}`;

/** Batches of rows that are counted, and whose failure is told apart from that of the target. */
class CountedRows implements AsyncIterable<JsonBatch> {
  count = 0;
  failure: unknown;
  private first: JsonBatch | undefined;
  private readonly batches: AsyncIterator<JsonBatch>;

  constructor(rows: Readable) {
    this.batches = (rows as AsyncIterable<JsonBatch>)[Symbol.asyncIterator]();
  }

  /** Waits for the first row. */
  async hasSome(): Promise<boolean> {
    this.first = await this.next();
    return this.first !== undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JsonBatch> {
    for (let batch = this.first; batch; batch = await this.next()) yield batch;
  }

  private async next(): Promise<JsonBatch | undefined> {
    try {
      for (;;) {
        const { value, done } = await this.batches.next();
        if (done) return undefined;
        const rows = rowCount(value);
        this.count += rows;
        if (rows > 0) return value;
      }
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}

async function* hashed(frame: Transform, hash: ReturnType<typeof createHash>) {
  for await (const piece of frame as AsyncIterable<Buffer>) {
    hash.update(piece);
    yield piece;
  }
}

/** Says why an export has failed, without names of the server. */
function plainReason(error: unknown): string {
  if (error instanceof TargetFailure) return error.reason;
  const { status, message } = toApiError(error);
  return status < 500 ? message : 'the rows could not be read: the log of the service says why';
}
