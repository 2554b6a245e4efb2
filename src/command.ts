import type { DataSource } from 'typeorm';
import { config } from './config.js';
import { embeddedPostgresUrl } from './database/embedded-postgres.js';
import { connect, openPostgres } from './server.js';

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
