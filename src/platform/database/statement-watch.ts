import type { StatementOutcome, RequestTrace } from '../process/request-trace.js';
import { warnSeldom } from '../process/warn-seldom.js';

/** Is told of a statement by its name when it is sent; what it answers is told of the end. */
export type StatementWatch = (name: string) => (outcome: StatementOutcome) => void;

/** Whose statements those of an asynchronous context are. */
export interface StatementSubject {
  /** For the log: `operation` or `work`, and more. Never a value of a client's. */
  tell: () => Record<string, string | undefined>;
  /** The request that they are traced below. */
  trace?: RequestTrace | undefined;
}

const TABLE = /\b(?:FROM|INTO|UPDATE|TABLE|ON) (?:ONLY )?"?([a-z_]+)"?/;

/** What made the statement says its name; of others it is what they do and to which table. It has no value. */
export function statementName(statement: {
  text: string;
  name?: string;
  label?: string | undefined;
}): string {
  const { text, name, label } = statement;
  const said = label ?? name;
  if (said) return said;
  const verb = /[A-Z]+/i.exec(text)?.[0].toUpperCase() ?? 'statement';
  return [verb, TABLE.exec(text)?.[1]].filter(Boolean).join(' ');
}

/**
 * Warns of statements that take longer than `slowMs`, each name at once and then at most every 10 s; 0: of none. Traces those of a
 * request that is traced.
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
