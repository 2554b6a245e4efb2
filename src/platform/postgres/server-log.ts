/** Levels of Skein's log, from the least to the most severe. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** Process id and SQLSTATE, before PostgreSQL's own text: `123 53100 ERROR:  could not extend file …`. */
export const LOG_LINE_PREFIX = '%p %e ';
const LINE = /^\d+ ([0-9A-Z]{5}) ([A-Z]+\d?): {2}(.*)$/;

const LEVELS: Record<string, LogLevel> = {
  WARNING: 'warn',
  ERROR: 'error',
  FATAL: 'error',
  PANIC: 'fatal',
};
/**
 * SQLSTATE classes of server problems: missing resources, exceeded limits, system errors, its files, internal errors.
 */
const OWN_TROUBLE = /^(53|54|58|F0|XX)/;
/** SQLSTATEs of ended sessions, from a stop, a start or a cancelled statement. They are no problem. */
const ROUTINE = /^57(014|P01|P03|P05)$/;
/** Lines that explain the message before them, and may contain statements and their values. */
const EXPLANATION = /^(DETAIL|CONTEXT|STATEMENT|QUERY|LOCATION|BACKTRACE)$/;

/**
 * Reads the output of the server line by line, and reports each message once, at the level of its severity. A refused
 * statement concerns only its client, and its message may quote values: only its SQLSTATE is reported, at `debug`.
 * Explanations of a message are dropped, except hints.
 */
export function serverLog(report: (line: string, level: LogLevel) => void) {
  /** Level of the message that a line without a prefix continues. Null when the message is dropped. */
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
