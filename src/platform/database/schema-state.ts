import type { DataSource } from 'typeorm';
import { logger } from '../process/logger.js';
import { COMMIT, VERSION } from '../config/version.js';

const NAMED = 5;

/** The part of a data source that is available before it connects. */
type BuildSource = Pick<DataSource, 'options'>;

/** A connection that reads the state of the schema: a data source or `Probe`. */
export interface SchemaSource extends BuildSource {
  query<Rows>(text: string): Promise<Rows>;
}

/** Names of the migrations of this build, in order. */
export const ownMigrations = ({ options }: BuildSource): string[] =>
  (options.migrations as { name: string }[]).map(({ name }) => name);

/** The last migration that was folded into the baseline. The baseline is the first migration of this build. */
export const LAST_FOLDED = 'FirstPlans1765900000000';

/** True when a migration was folded into the baseline. Names end with the timestamp of the migration. */
export const isFolded = (name: string) =>
  /176[45]\d{9}$/.test(name) && name.slice(-13) <= LAST_FOLDED.slice(-13);

/** Returns the migration of this build that produces the schema of an older build or of its backup. */
export const schemaMigration = (described: BuildSource, schema: string) =>
  schema === LAST_FOLDED ? ownMigrations(described)[0]! : schema;

/** Facts that identify a build. `schema` is its newest migration. */
export const buildFacts = (dataSource: BuildSource) => ({
  version: VERSION,
  commit: COMMIT,
  schema: ownMigrations(dataSource).at(-1)!,
});

export function describeBuild(dataSource: BuildSource): string {
  const { version, commit, schema } = buildFacts(dataSource);
  return `Skein ${version} (commit ${commit}, schema ${schema})`;
}

/** Compares the migrations that the database has run with those of this build. */
export interface SchemaState {
  /** True when the database has run a migration of this build, or one that was folded into the baseline. */
  hasTables: boolean;
  pending: string[];
  /** Migrations of a newer build, which this build does not know. */
  unknown: string[];
}

export async function schemaState(dataSource: SchemaSource): Promise<SchemaState> {
  const own = ownMigrations(dataSource);
  const ran = await ranMigrations(dataSource);
  return {
    hasTables: ran.some((name) => own.includes(name) || isFolded(name)),
    pending: own.filter((name) => !ran.includes(name)),
    unknown: ran.filter((name) => !own.includes(name) && !isFolded(name)),
  };
}

/**
 * Returns the migrations that the database has run. Reads them as JSON, because the table `migrations` of another
 * program may have other columns.
 */
export async function ranMigrations(dataSource: SchemaSource): Promise<string[]> {
  const [table] = await dataSource.query<{ name: string | null }[]>(
    `SELECT to_regclass('migrations')::text AS name`,
  );
  if (!table!.name) return [];
  const rows = await dataSource.query<{ name: string }[]>(
    `SELECT m.row ->> 'name' AS name FROM (SELECT to_jsonb(migrations) AS row FROM migrations) m
     WHERE m.row ? 'name' ORDER BY m.row -> 'timestamp', name`,
  );
  return rows.map(({ name }) => name);
}

export interface SchemaPolicy {
  allowNewerSchema: boolean;
}

/**
 * Returns false, with a warning in the log, when the schema is newer than this build and `allowNewerSchema` is set.
 * @throws Error when the database has run migrations that this build does not know
 */
export async function assertSchemaKnown(
  dataSource: DataSource,
  { allowNewerSchema }: SchemaPolicy,
): Promise<boolean> {
  const { unknown } = await schemaState(dataSource);
  if (unknown.length === 0) return true;
  const what = `the database has run ${listMigrations(unknown)}. This build is ${describeBuild(dataSource)}`;
  if (!allowNewerSchema)
    throw new Error(
      `${what}: run the newer build, or, in an emergency only, set ALLOW_NEWER_SCHEMA=1`,
    );
  logger.warn(`${what}; ALLOW_NEWER_SCHEMA=1 lets it run`);
  return false;
}

/** Returns for example `a migration that this build does not know: Later9999999999999`. */
export function listMigrations(unknown: readonly string[]): string {
  const named = unknown.slice(0, NAMED).join(', ');
  const more = unknown.length > NAMED ? ` and ${unknown.length - NAMED} more` : '';
  const what = unknown.length === 1 ? 'a migration' : 'migrations';
  return `${what} that this build does not know: ${named}${more}`;
}
