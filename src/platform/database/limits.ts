const SECOND = 1000;

/** How long one statement may take, in milliseconds, by what it is for; `Database.readMs` has that of a long read. */
export const STATEMENT_MS = {
  /** Also of the short reads. It is the default of a session: docs/adr/0008-connections.md. */
  write: 30 * SECOND,
  /** Work over many rows that must not be left half done: purges, sweeps, uploads that become visible. */
  bulk: 600 * SECOND,
  /** A whole stream, its reader's time included. */
  stream: 3600 * SECOND,
};

/**
 * What every session must have, in PostgreSQL's own spelling: date-times without an offset are UTC, and are answered in
 * the form that `JsonRowWriter` reads; numbers keep all digits; each statement sees what is committed; nothing waits for
 * ever. Statements are too short for JIT to pay, pages come from memory or flash (else a project's calls are sorted on
 * disk instead of read in order from an index), and a query whose client is gone stops within 2 s (not on Windows,
 * where the server cannot watch its sockets).
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

/** Of commands and migrations, which run for as long as they need, and wait for each other. */
export const UNLIMITED_SESSION: Record<string, string> = {
  ...SESSION,
  application_name: 'skein command',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
};
