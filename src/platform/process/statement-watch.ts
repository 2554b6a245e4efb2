import type { StatementOutcome, RequestTrace } from './request-trace.js';
import { warnSeldom } from './warn-seldom.js';

/** Called with the name of a statement when it is sent. The returned function is called when the statement ends. */
export type StatementWatch = (name: string) => (outcome: StatementOutcome) => void;

/** A statement, with the name under which connections prepare it or the name of the function that wrote it. */
export interface NamedStatement {
  text: string;
  name?: string;
  label?: string | undefined;
}

/** The request or task that runs the statements of an asynchronous context. */
export interface StatementSubject {
  /** Returns fields for the log: `operation` or `work`, and more. They never contain values from a client. */
  tell: () => Record<string, string | undefined>;
  trace?: RequestTrace | undefined;
}

const TABLE = /\b(?:FROM|INTO|UPDATE|TABLE|ON) (?:ONLY )?"?([a-z_]+)"?/;

/**
 * Returns the name that the author gave the statement, or the function that wrote it. Without both, returns the SQL
 * command and the table, never values.
 */
export function statementName(statement: NamedStatement): string {
  const { text, name, label } = statement;
  const said = name ?? label;
  if (said) return said;
  const verb = /[A-Z]+/i.exec(text)?.[0].toUpperCase() ?? 'statement';
  return [verb, TABLE.exec(text)?.[1]].filter(Boolean).join(' ');
}

/**
 * Logs statements that take longer than `slowMs`; 0 turns this off. The same name is logged at most every 10 s.
 * Statements of a traced request also become spans of its trace.
 */
export const watchStatements =
  (slowMs: number, subject: () => StatementSubject | undefined): StatementWatch =>
  (name) => {
    const began = performance.now();
    const of = subject();
    const endSpan = of?.trace?.statement(name);
    return (outcome) => {
      endSpan?.(outcome);
      const { rows, error, ms } = outcome;
      const duration_ms = Math.round(ms ?? performance.now() - began);
      if (slowMs === 0 || duration_ms < slowMs) return;
      const code = (error as { code?: string } | undefined)?.code;
      warnSeldom(`slow statement: ${name}`, {
        statement: name,
        duration_ms,
        rows,
        code,
        ...of?.tell(),
      });
    };
  };

/** Watches a statement that was sent. */
export async function watchStatement<Result extends { rowCount: number | null }>(
  watch: StatementWatch,
  statement: NamedStatement,
  asked: Promise<Result>,
): Promise<Result> {
  const ended = watch(statementName(statement));
  try {
    const result = await asked;
    ended({ rows: result.rowCount ?? undefined });
    return result;
  } catch (error) {
    ended({ error });
    throw error;
  }
}
