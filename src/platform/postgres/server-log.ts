/** Levels of our log, the least grave first. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** Process, SQLSTATE, then what PostgreSQL puts there itself: `123 53100 ERROR:  could not extend file …`. */
export const LOG_LINE_PREFIX = '%p %e ';
const LINE = /^\d+ ([0-9A-Z]{5}) ([A-Z]+\d?): {2}(.*)$/;

const LEVELS: Record<string, LogLevel> = {
  WARNING: 'warn',
  ERROR: 'error',
  FATAL: 'error',
  PANIC: 'fatal',
};
/** Trouble of the server: no resources, over a limit, the system's own errors, its files, its insides. */
const OWN_TROUBLE = /^(53|54|58|F0|XX)/;
/** A stop, a start and a cancelled statement end sessions, which is no trouble. */
const ROUTINE = /^57(014|P01|P03|P05)$/;
/** Lines that explain the message before them, and may hold statements and their values. */
const EXPLANATION = /^(DETAIL|CONTEXT|STATEMENT|QUERY|LOCATION|BACKTRACE)$/;

/**
 * Reads what the server writes line by line, and reports each message once, at the level of its severity. A refused
 * statement is its client's affair, and its message may quote values: only its SQLSTATE is told, at `debug`. Lines that
 * explain a message are left out, all but hints.
 */
export function serverLog(report: (line: string, level: LogLevel) => void) {
  /** Of the message that a line without a prefix continues; null when it is left out. */
  let level: LogLevel | null = 'debug';
  const begin = (sqlstate: string, severity: string, text: string) => {
    if (severity === 'ERROR' && !OWN_TROUBLE.test(sqlstate)) {
      level = null;
      return report(`refused a statement (SQLSTATE ${sqlstate})`, 'debug');
    }
    level = ROUTINE.test(sqlstate) ? 'debug' : (LEVELS[severity] ?? 'debug');
    report(text, level);
  };
  return (line: string): void => {
    const [, sqlstate = '', severity = '', text = line.trim()] = LINE.exec(line) ?? [];
    if (EXPLANATION.test(severity)) level = null;
    else if (severity && severity !== 'HINT') begin(sqlstate, severity, text);
    else if (level) report(severity ? `hint: ${text}` : text, level);
  };
}
