const SECOND = 1000;

/**
 * Time limits of one statement in milliseconds, keyed by its purpose. `Database.readMs` holds the limit of long reads.
 */
export const STATEMENT_MS = {
  /** Also the limit of short reads, and the default of a session: docs/adr/0008-connections.md. */
  write: 30 * SECOND,
  /** For work over many rows that must not stop half done: purges, sweeps, and uploads that become visible. */
  bulk: 600 * SECOND,
  /** For a whole stream, including the time that its reader takes. */
  stream: 3600 * SECOND,
};

/**
 * Settings that every session must have, spelled as PostgreSQL returns them.
 * - Date-times without an offset are UTC, and are printed in the format that `JsonRowWriter` reads.
 * - Numbers keep all digits, each statement sees what is committed, and every wait has a limit.
 * - JIT is off because statements are too short for it to pay off.
 * - `random_page_cost` assumes that pages come from memory or flash. With the default, PostgreSQL sorts a project's
 *   calls on disk instead of reading them in order from an index.
 * - A query stops within 2 s after its client has disconnected. Not on Windows, where the server cannot watch its
 *   sockets.
 */
export const SESSION: Record<string, string> = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  extra_float_digits: '1',
  default_transaction_isolation: 'read committed',
  statement_timeout: `${STATEMENT_MS.write / SECOND}s`,
  lock_timeout: '10s',
  idle_in_transaction_session_timeout: '50s',
  jit: 'off',
  random_page_cost: '1.1',
  ...(process.platform === 'win32' ? {} : { client_connection_check_interval: '2s' }),
};

/** Settings for commands and migrations, which have no time limits and wait for each other. */
export const UNLIMITED_SESSION: Record<string, string> = {
  ...SESSION,
  application_name: 'skein command',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
};
