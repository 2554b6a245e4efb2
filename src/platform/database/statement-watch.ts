import { warnSeldom } from '../process/warn-seldom.js';

/** How a statement ended: the rows that it answered or wrote, as far as they are known, or why it failed. */
export interface Outcome {
  rows?: number | undefined;
  error?: unknown;
  /** Where the time of a reader lies between: how long the database took. */
  ms?: number;
}

/** Is told of a statement by its name when it is sent; what it answers is told of the end. */
export type StatementWatch = (name: string) => (outcome: Outcome) => void;

/** What is under way in the asynchronous context: `operation` or `work`, and more for the log. Never a value of a client's. */
export type About = () => Record<string, string | undefined>;

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

/** Warns of statements that take longer than `slowMs`: each name at once, and then at most every 10 s. */
export const slowStatements =
  (slowMs: number, about: () => About | undefined): StatementWatch =>
  (name) => {
    const began = performance.now();
    const tell = about();
    return ({ rows, error, ms }) => {
      const duration_ms = Math.round(ms ?? performance.now() - began);
      if (duration_ms < slowMs) return;
      const code = (error as { code?: string } | undefined)?.code;
      warnSeldom(`slow statement: ${name}`, {
        statement: name,
        duration_ms,
        rows,
        code,
        ...tell?.(),
      });
    };
  };
