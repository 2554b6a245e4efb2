import { Entity } from 'typeorm';

/** How the rows of a table count in what a project holds. */
export interface CountRule {
  /** SQL over a row: its bytes. Without it only the row counts. */
  bytes?: string;
  /** Rows are also edited, so that their bytes may change. */
  isEdited?: boolean;
}

/**
 * What the service must know of a table with project data beside its columns. `rows` says what erasing a project does:
 * `data` is erased; `derived` follows from other rows, and refreshers take it away; `kept` stays; `uploads` are
 * bodies that arrive, ended before all else; `count marks` are what triggers write of rows that come and go.
 */
export type TableFacts =
  | {
      rows: 'data';
      /** Null when its rows belong to one that counts. */
      counted: CountRule | null;
      /** The column that names the upload that brings the rows, until it is complete. */
      upload?: string;
    }
  | { rows: 'derived' | 'kept' | 'uploads' | 'count marks' };

const facts = new WeakMap<object, TableFacts>();

/** An entity with project data. Erasing, counting and the sweep of uploads follow from what is said here. */
export const ProjectTable =
  (name: string, about: TableFacts): ClassDecorator =>
  (target) => {
    facts.set(target, about);
    Entity(name)(target);
  };

/** What TypeORM knows of an entity, as far as it is needed here. */
export interface EntityInfo {
  tableName: string;
  target: Function | string;
  primaryColumns: readonly { databaseName: string }[];
}

/** The tables with project data, by name. @throws Error naming an entity that says nothing of its rows */
export function projectTables<T extends EntityInfo>(
  entities: readonly T[],
): { entity: T; facts: TableFacts }[] {
  return entities
    .filter(({ primaryColumns }) => primaryColumns[0]?.databaseName === 'project_id')
    .map((entity) => {
      const known = facts.get(entity.target as Function);
      if (!known)
        throw new Error(
          `the entity of ${entity.tableName} has project data: declare it with @ProjectTable instead of @Entity`,
        );
      return { entity, facts: known };
    })
    .toSorted((a, b) => (a.entity.tableName < b.entity.tableName ? -1 : 1));
}
