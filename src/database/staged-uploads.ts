import { Injectable, Logger } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { identifier, join, sql, type Sql } from '../query/sql.js';
import { Busy } from '../common/refusals.js';
import { Database } from './database.js';
import { STATEMENT_MS } from './limits.js';
import { Schedule } from './schedule.js';

const TRAJECTORY_COLUMNS = [
  'id',
  'group_index',
  'trajectory_index',
  'num_tokens',
  'is_opaque',
  'reward',
  'start_time',
  'document',
] as const;

/** No project has this id: an upload is staged under it, unseen by others, while its project is not known. */
const NO_PROJECT = '';

/** An upload that was not touched for this long has lost its process. */
const STALE = sql`interval '1 hour'`;
const SWEEP_EVERY_MS = 60_000;

/** Where uploads are staged, the column that names the upload, and the others but the project. */
const STAGED = (
  [
    ['file_chunks', 'upload_id', ['chunk_index', 'bytes']],
    ['body_chunks', 'batch_id', ['seq', 'is_payload', 'text', 'edits']],
    ['trajectories', 'batch_id', TRAJECTORY_COLUMNS],
  ] as const
).map(([table, column, others]) => ({
  table: identifier(table),
  column: identifier(column),
  columns: join([column, ...others].map(identifier)),
}));

/**
 * Large bodies on their way into the database. They are stored while they come, in short transactions that each touch
 * the row of the upload, so that a slow client holds no connection. Staged data is invisible until `keep` hands it
 * over in the caller's transaction; `discard` removes it; leftovers of a dead process are swept by any other.
 */
@Injectable()
export class StagedUploads {
  constructor(
    private readonly database: Database,
    schedule: Schedule,
  ) {
    schedule.every(SWEEP_EVERY_MS, 'uploads', () => this.sweep());
  }

  /** Begins an upload for the key of the asynchronous context. Nothing is stored yet. */
  begin(): StagedUpload {
    return new StagedUpload(this.database);
  }

  /** Removes uploads that processes left behind when they died. */
  async sweep(): Promise<void> {
    const stale = await this.database.query<{ project_id: string; id: string }>(
      sql`SELECT project_id, id FROM uploads WHERE touched_at < now() - ${STALE} LIMIT 100`,
    );
    for (const { project_id, id } of stale)
      await this.database.urgently(() =>
        this.database.long(() => remove(this.database, project_id, id), STATEMENT_MS.bulk),
      );
  }
}

/** One upload; `projectId` may change until the first part is stored. */
export class StagedUpload {
  readonly id = uuidv7();
  projectId = NO_PROJECT;
  private readonly logger = new Logger('uploads');
  /** Its parts may be stored by callbacks of other contexts. */
  private readonly key: () => string;
  isBegun = false;

  constructor(private readonly database: Database) {
    this.key = database.key;
  }

  /** Runs what stores a part, under `projectId` and `id`. @throws Busy when the upload was swept */
  async store(part: () => Promise<void>): Promise<void> {
    const isFirst = !this.isBegun;
    this.isBegun = true;
    await this.long(async () => {
      // A crash of the server may lose parts, as it loses the upload: only the commit that keeps it waits for the disk.
      await this.database.query(sql`SET LOCAL synchronous_commit = off`);
      const touched = await this.database.query(this.touched(isFirst));
      if (touched.length === 0) throw tookTooLong();
      await part();
    }, STATEMENT_MS.write);
  }

  /** Hands over what is staged, in the transaction of the caller, to a project. @throws Busy when it was swept */
  async keep(projectId: string): Promise<void> {
    const { id, projectId: staged, database } = this;
    if ((await database.query(ended(staged, id))).length === 0) throw tookTooLong();
    if (staged === projectId) return;
    // not an UPDATE: a row of another project may lie on another node
    for (const { table, column, columns } of STAGED)
      await database.query(sql`
        INSERT INTO ${table} (project_id, ${columns}) SELECT ${projectId}, ${columns} FROM ${table}
        WHERE project_id = ${staged} AND ${column} = ${id}`);
    await removeParts(database, staged, id);
  }

  /** Removes what is staged and was not kept. It is left to `sweep` when the database is away. */
  async discard(): Promise<void> {
    if (!this.isBegun) return;
    try {
      await this.database.urgently(() =>
        this.long(() => remove(this.database, this.projectId, this.id), STATEMENT_MS.bulk),
      );
    } catch (error) {
      this.logger.warn(`an upload stays staged: ${(error as Error).message}`);
    }
  }

  private long(work: () => Promise<void>, statementMs: number): Promise<void> {
    const { database } = this;
    if (database.inTransaction) return database.long(work, statementMs);
    return database.runFor(this.key, () => database.long(work, statementMs));
  }

  private touched(isFirst: boolean): Sql {
    const { projectId, id } = this;
    return isFirst
      ? sql`INSERT INTO uploads (project_id, id) VALUES (${projectId}, ${id}) RETURNING 1`
      : sql`UPDATE uploads SET touched_at = now() WHERE project_id = ${projectId} AND id = ${id} RETURNING 1`;
  }
}

const ended = (projectId: string, id: string) =>
  sql`DELETE FROM uploads WHERE project_id = ${projectId} AND id = ${id} RETURNING 1`;

/** Removes an upload unless it was kept or removed already. */
async function remove(database: Database, projectId: string, id: string): Promise<void> {
  if ((await database.query(ended(projectId, id))).length > 0)
    await removeParts(database, projectId, id);
}

async function removeParts(database: Database, projectId: string, id: string): Promise<void> {
  for (const { table, column } of STAGED)
    await database.query(
      sql`DELETE FROM ${table} WHERE project_id = ${projectId} AND ${column} = ${id}`,
    );
}

const tookTooLong = () => new Busy('receiving the body took too long');
