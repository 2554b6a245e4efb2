import { Entity } from 'typeorm';

export interface CountRule {
  /** SQL expression for the bytes of a row. Without it only the number of rows counts. */
  bytes?: string;
  /** True when rows are updated, so that their bytes may change. */
  isEdited?: boolean;
}

/**
 * Facts about a table with project data. `rows` determines what erasing a project does with its rows.
 * - `data` is erased.
 * - `derived` follows from other rows, and refreshers remove it.
 * - `kept` stays.
 * - `uploads` are bodies that are being received. They are ended before everything else.
 * - `count marks` are written by triggers when rows are added or removed.
 */
export type TableFacts =
  | {
      rows: 'data';
      /** Null when the rows belong to a row of another table that counts. */
      counted: CountRule | null;
      /**
       * SQL expression for the bytes that are written with a row, where `counted.bytes` does not say it. `written` is
       * the row.
       */
      written?: string;
      /** Column with the id of the upload that stages the rows until it is complete. */
      upload?: string;
    }
  | { rows: 'derived' | 'kept' | 'uploads' | 'count marks' };

const facts = new WeakMap<object, TableFacts>();

/** Declares an entity with project data. Erasing, counting and the sweep of uploads use these facts. */
export const ProjectTable =
  (name: string, about: TableFacts): ClassDecorator =>
  (target) => {
    facts.set(target, about);
    Entity(name)(target);
  };

export interface EntityInfo {
  tableName: string;
  target: Function | string;
  primaryColumns: readonly { databaseName: string }[];
}

/**
 * Returns the tables with project data, sorted by name.
 * @throws Error naming an entity that is not declared with `@ProjectTable`
 */
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
