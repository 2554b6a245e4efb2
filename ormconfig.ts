import { DataSource, type DataSourceOptions } from 'typeorm';
import { ApiKey } from './src/auth/api-key.entity.js';
import { IdempotencyKey } from './src/auth/idempotency-key.entity.js';
import { Call } from './src/calls/call.entity.js';
import { config } from './src/config.js';
import { Foundation1764000000000 } from './src/database/migrations/1764000000000-foundation.js';
import { Threads1764300000000 } from './src/database/migrations/1764300000000-threads.js';
import { ThreadMark } from './src/threads/thread-mark.entity.js';
import { Thread } from './src/threads/thread.entity.js';

/** A connection attempt takes at most this long, then the request that wanted it is answered 503. */
const CONNECT_TIMEOUT_MS = 5000;

/**
 * Session settings: date-times without an offset are UTC, statements are too short for JIT to pay, and a query whose
 * client is gone stops within 2 s (not on Windows, where the server cannot watch its sockets).
 */
const SESSION = [
  '-c timezone=UTC',
  '-c jit=off',
  ...(process.platform === 'win32' ? [] : ['-c client_connection_check_interval=2s']),
].join(' ');

/** The one data source: of the app, of its commands, and of the TypeORM command line. */
export function dataSourceOptions(url: string) {
  return {
    type: 'postgres',
    url,
    entities: [ApiKey, IdempotencyKey, Call, Thread, ThreadMark],
    migrations: [Foundation1764000000000, Threads1764300000000],
    synchronize: false,
    installExtensions: false,
    applicationName: 'skein',
    poolSize: config.databasePoolSize,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    extra: { options: SESSION, keepAlive: true },
  } satisfies DataSourceOptions;
}

/** For `npm run build && npx typeorm <command> -d dist/ormconfig.js`, which works on `DATABASE_URL`. */
export default new DataSource(
  dataSourceOptions(config.databaseUrl ?? 'postgres://localhost/skein'),
);
