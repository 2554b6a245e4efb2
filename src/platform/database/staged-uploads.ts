import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { identifier, join, sql, type Sql } from '../query/sql.js';
import { Busy } from '../refusals.js';
import { Database } from './database.js';
import { projectTables } from './project-table.js';
import { Schedule } from './schedule.js';

/** Id that no project has. An upload is staged under it while its project is unknown, so nobody can see it. */
const NO_PROJECT = '';

/** An upload that was not touched for this long was left behind by a process that died. */
const STALE = sql`interval '1 hour'`;
const SWEEP_EVERY_MS = 60_000;

interface StagedTable {
  table: Sql;
  upload: Sql;
  /** All columns except the project. */
  columns: Sql;
}

/**
 * Stores large bodies while they are received. Each part is stored in a short transaction that also touches the row of
 * the upload, so a slow client holds no connection. Staged data is invisible until `keep` makes it visible in the
 * caller's transaction; `discard` removes it. Any process sweeps the uploads of a process that died.
 */
@Injectable()
export class StagedUploads {
  private readonly places: readonly StagedTable[];

  constructor(
    private readonly database: Database,
    dataSource: DataSource,
    schedule: Schedule,
  ) {
    this.places = stagedTables(dataSource);
    schedule.every(SWEEP_EVERY_MS, 'uploads', () => this.sweep());
  }

  /** Begins an upload owned by the key of the asynchronous context. Nothing is stored yet. */
  begin(): StagedUpload {
    return new StagedUpload(this.database, this.places);
  }

  /** Marks uploads for removal by the next sweep. Call it in the transaction that deletes the rows that name them. */
  async abandon(projectId: string, ids: string[]): Promise<void> {
    await this.database.query(sql`
      INSERT INTO uploads (project_id, id, touched_at)
      SELECT ${projectId}, id, '-infinity' FROM unnest(${ids}::uuid[]) AS u (id)`);
  }

  async sweep(): Promise<void> {
    const stale = await this.database.query(
      sql<{ project_id: string; id: string }>`
        SELECT project_id, id FROM uploads WHERE touched_at < now() - ${STALE} LIMIT 100`,
    );
    for (const { project_id, id } of stale)
      await new StagedUpload(this.database, this.places, id, project_id).remove();
  }
}

/** One upload. `projectId` may change until the first part is stored. */
export class StagedUpload {
  private readonly logger = new Logger('uploads');
  /** The owner, kept because callbacks of other asynchronous contexts may store parts. */
  private readonly owner: string;
  isBegun = false;

  constructor(
    private readonly database: Database,
    private readonly places: readonly StagedTable[],
    readonly id = uuidv7(),
    public projectId = NO_PROJECT,
  ) {
    this.owner = database.scope.owner;
  }

  /**
   * Runs `part`, which stores a part under `projectId` and `id`.
   * @throws Busy when the upload was swept
   */
  async store(part: () => Promise<void>): Promise<void> {
    const isFirst = !this.isBegun;
    this.isBegun = true;
    await this.database.transaction({ owner: this.owner, long: 'write' }, async () => {
      // A crash of the server may lose parts, but then the upload is lost too. Only the commit of `keep` waits for the
      // disk.
      await this.database.query(sql`SET LOCAL synchronous_commit = off`);
      const touched = await this.database.query(this.touched(isFirst));
      if (touched.length === 0) throw tookTooLong();
      await part();
    });
  }

  /**
   * Gives the staged data to a project, in the transaction of the caller.
   * @throws Busy when the upload was swept
   */
  async keep(projectId: string): Promise<void> {
    const { id, projectId: staged, database } = this;
    if (!(await this.end())) throw tookTooLong();
    if (staged === projectId) return;
    // This cannot be an UPDATE: on Citus a row of another project may lie on another node.
    for (const { table, upload, columns } of this.places)
      await database.query(sql`
        INSERT INTO ${table} (project_id, ${columns}) SELECT ${projectId}, ${columns} FROM ${table}
        WHERE project_id = ${staged} AND ${upload} = ${id}`);
    await this.removeParts();
  }

  /** Removes an upload that was not kept. When the database is unreachable, `sweep` removes it later. */
  async discard(): Promise<void> {
    if (!this.isBegun) return;
    try {
      await this.remove();
    } catch (error) {
      this.logger.warn(`an upload stays staged: ${(error as Error).message}`);
    }
  }

  /** Removes the upload unless it was already kept or removed. */
  async remove(): Promise<void> {
    const { owner, database } = this;
    await database.transaction({ owner, long: 'bulk', isUrgent: true }, async () => {
      if (await this.end()) await this.removeParts();
    });
  }

  private async end(): Promise<boolean> {
    const { projectId, id } = this;
    const ended = await this.database.query(
      sql`DELETE FROM uploads WHERE project_id = ${projectId} AND id = ${id} RETURNING 1`,
    );
    return ended.length > 0;
  }

  private async removeParts(): Promise<void> {
    for (const { table, upload } of this.places)
      await this.database.query(
        sql`DELETE FROM ${table} WHERE project_id = ${this.projectId} AND ${upload} = ${this.id}`,
      );
  }

  private touched(isFirst: boolean): Sql {
    const { projectId, id } = this;
    return isFirst
      ? sql`INSERT INTO uploads (project_id, id) VALUES (${projectId}, ${id}) RETURNING 1`
      : sql`UPDATE uploads SET touched_at = now() WHERE project_id = ${projectId} AND id = ${id} RETURNING 1`;
  }
}

/** Lists the tables with staged rows. All their columns are copied, including columns that are added later. */
const stagedTables = ({ entityMetadatas }: DataSource): StagedTable[] =>
  projectTables(entityMetadatas).flatMap(({ entity, facts }) => {
    if (facts.rows !== 'data' || !facts.upload) return [];
    const names = entity.columns.map(({ databaseName }) => databaseName);
    return {
      table: identifier(entity.tableName),
      upload: identifier(facts.upload),
      columns: join(names.filter((name) => name !== 'project_id').map(identifier)),
    };
  });

const tookTooLong = () => new Busy('receiving the body took too long');
