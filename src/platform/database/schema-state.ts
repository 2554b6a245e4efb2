import type { DataSource } from 'typeorm';
import { logger } from '../process/logger.js';
import { COMMIT, VERSION } from '../config/version.js';

/** A message names no more migrations than this. */
const NAMED = 5;

/** What is needed of a data source that may not be connected yet. */
type BuildSource = Pick<DataSource, 'options'>;

/** What is asked for the state of the database: a data source, or `Probe`. */
export interface SchemaSource extends BuildSource {
  query<Rows>(text: string): Promise<Rows>;
}

/** Names of the migrations of this build, in their order. */
export const ownMigrations = ({ options }: BuildSource): string[] =>
  (options.migrations as { name: string }[]).map(({ name }) => name);

/** The last migration that was folded into the baseline, which is the first of today's. */
export const LAST_FOLDED = 'FirstPlans1765900000000';

/** Whether a migration was folded into the baseline. Names end in the time of the migration. */
export const isFolded = (name: string) =>
  /176[45]\d{9}$/.test(name) && name.slice(-13) <= LAST_FOLDED.slice(-13);

/** The migration of today that makes the schema that an older build, or a backup of it, names. */
export const schemaMigration = (described: BuildSource, schema: string) =>
  schema === LAST_FOLDED ? ownMigrations(described)[0]! : schema;

/** What tells this build from others: `schema` is its newest migration. */
export const buildFacts = (dataSource: BuildSource) => ({
  version: VERSION,
  commit: COMMIT,
  schema: ownMigrations(dataSource).at(-1)!,
});

export function describeBuild(dataSource: BuildSource): string {
  const { version, commit, schema } = buildFacts(dataSource);
  return `Skein ${version} (commit ${commit}, schema ${schema})`;
}

/** What the database has run, beside what this build has. */
export interface SchemaState {
  /** Whether it has run any migration of this build, or of those before the baseline. */
  hasTables: boolean;
  pending: string[];
  /** Those of a newer build, which this one does not know. */
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

/** A table `migrations` of another program may have other columns. */
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

/** @throws Error when the database has run migrations that this build does not know; a warning when that is allowed. */
export async function assertSchemaKnown(
  dataSource: DataSource,
  { allowNewerSchema }: SchemaPolicy,
): Promise<void> {
  const { unknown } = await schemaState(dataSource);
  if (unknown.length === 0) return;
  const what = `the database has run ${listMigrations(unknown)}. This build is ${describeBuild(dataSource)}`;
  if (!allowNewerSchema)
    throw new Error(
      `${what}: run the newer build, or, in an emergency only, set ALLOW_NEWER_SCHEMA=1`,
    );
  logger.warn(`${what}; ALLOW_NEWER_SCHEMA=1 lets it run`);
}

/** `a migration that this build does not know: Later9999999999999` */
export function listMigrations(unknown: readonly string[]): string {
  const named = unknown.slice(0, NAMED).join(', ');
  const more = unknown.length > NAMED ? ` and ${unknown.length - NAMED} more` : '';
  const what = unknown.length === 1 ? 'a migration' : 'migrations';
  return `${what} that this build does not know: ${named}${more}`;
}
