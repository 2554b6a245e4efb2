import type { DataSource } from 'typeorm';
import { config, InvalidSetting } from './config.js';
import { embeddedPostgresUrl } from './postgres/embedded-postgres.js';
import { connect, openPostgres } from './server.js';

/** Runs a program to its end; what stops it is said in a line, with a stack where only that explains it. */
export async function command(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${explained(error)}\n`);
    process.exitCode = 1;
  }
}

/** Settings, the embedded database and the commands explain themselves. */
export function explained(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isExplained = error.constructor === Error || error instanceof InvalidSetting;
  return isExplained ? error.message : error.stack!;
}

/**
 * Runs a command on the database the settings name: an external one, the embedded one of a service that runs, or the
 * embedded one opened for the command alone.
 */
export async function withDatabase(work: (dataSource: DataSource) => Promise<void>): Promise<void> {
  const running = config.databaseUrl ? undefined : await embeddedPostgresUrl(config.dataDir);
  const postgres = running ? { url: running, stop: async () => {} } : await openPostgres(config);
  try {
    const dataSource = await connect(postgres.url);
    try {
      await work(dataSource);
    } finally {
      await dataSource.destroy();
    }
  } finally {
    await postgres.stop();
  }
}
