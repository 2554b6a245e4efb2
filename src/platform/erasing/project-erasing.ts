import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { KINDS } from '../database/changes.js';
import { Database } from '../database/database.js';
import { projectTables } from '../database/project-table.js';
import type { RowCounts, ErasingRow } from './erasings.query.js';
import { ErasingsService, type ErasingStep, PROJECT_KIND } from './erasings.service.js';
import {
  type RowKey,
  lastKeyQuery,
  type ErasableTable,
  rowsDelete,
  uploadsDelete,
} from './project.query.js';
import { deletionAction } from '../audit/add-event.js';

/** Erased first, because parts can only be added to an upload that has a row. */
const UPLOADS = 'uploads';

interface Cursor {
  /** The last key of each table at the start of the erasing. */
  lastKeys: Record<string, RowKey>;
  /** The current table, and the key up to which it is empty. */
  table: string;
  after: RowKey | null;
}

/**
 * Erases all data of a project. The tables come from the entities, so that a new table is never forgotten. Data written
 * during the erasing may or may not be erased.
 */
@Injectable()
export class ProjectErasing {
  static readonly kind = PROJECT_KIND;
  static readonly action = deletionAction('project.delete', { isOfAll: true });
  private readonly tables: ErasableTable[];

  constructor(
    dataSource: DataSource,
    private readonly database: Database,
    erasings: ErasingsService,
  ) {
    this.tables = erasedTables(dataSource);
    erasings.register(ProjectErasing.kind, (erasing) => this.step(erasing));
  }

  private async step({ project_id, cursor, created_at }: ErasingRow): Promise<ErasingStep> {
    for (const kind of KINDS) this.database.changes.note(project_id, kind);
    if (!cursor) return this.begin(project_id);
    const { lastKeys, table: name, after } = cursor as Cursor;
    const index = this.tables.findIndex((table) => table.name === name);
    const table = this.tables[index];
    if (!table) throw new Error(`this version knows no table ${name}`);
    const until = lastKeys[name];
    const [batch] = until
      ? await this.database.query(
          rowsDelete(table, project_id, { after, until, before: created_at }),
        )
      : [];
    const counts: RowCounts = batch ? { [name]: batch.rows } : {};
    if (batch?.last) return { cursor: { lastKeys, table: name, after: batch.last }, counts };
    return { cursor: this.next(lastKeys, index + 1), counts };
  }

  /** Ends running uploads, and notes the last key of each table: rows after it were written later. */
  private async begin(projectId: string): Promise<ErasingStep> {
    const uploads = await this.database.query(uploadsDelete(projectId));
    const lastKeys: Record<string, RowKey> = {};
    for (const table of this.tables) {
      const [last] = await this.database.query(lastKeyQuery(table, projectId));
      if (last) lastKeys[table.name] = last.key;
    }
    return { cursor: this.next(lastKeys, 0), counts: { [UPLOADS]: uploads.length } };
  }

  /** Returns the cursor of the next table with rows, from this one on: each step waits for its turn. */
  private next(lastKeys: Record<string, RowKey>, from: number): Cursor | null {
    const table = this.tables.slice(from).find(({ name }) => lastKeys[name]);
    return table ? { lastKeys, table: table.name, after: null } : null;
  }
}

function erasedTables({ entityMetadatas }: DataSource): ErasableTable[] {
  return projectTables(entityMetadatas)
    .filter(({ facts }) => facts.rows === 'data')
    .map(({ entity: { tableName, primaryColumns, columns } }) => ({
      name: tableName,
      key: primaryColumns
        .slice(1)
        .map(({ databaseName, type }) => ({ name: databaseName, type: String(type) })),
      documents: columns
        .filter(({ type }) => ['json', 'jsonb', 'bytea'].includes(String(type)))
        .map(({ databaseName }) => databaseName),
    }));
}
