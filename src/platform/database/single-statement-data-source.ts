import { DataSource, type QueryRunner, type ReplicationMode } from 'typeorm';

/**
 * Sends each statement of a text on its own, and splits a `DROP` of several objects. Citus runs a multi-statement text
 * once per statement on the workers. Only the result of the last statement is returned.
 */
export class SingleStatementDataSource extends DataSource {
  override createQueryRunner(mode?: ReplicationMode): QueryRunner {
    const runner = super.createQueryRunner(mode);
    const query = runner.query.bind(runner);
    runner.query = async (text: string, ...values: never[]) => {
      const statements = splitStatements(text);
      for (const statement of statements.slice(0, -1)) await query(statement);
      return query(statements.at(-1) ?? text, ...values);
    };
    return runner;
  }
}

/** Matches up to the next semicolon that is not inside a function body, a string or a comment. */
const STATEMENT = /((?:[$]{2}[^]*?[$]{2}|'[^']*'|--.*|-(?!-)|[$](?![$])|[^;'$-])+;)/;

const DROPPED = /^(\s*DROP (?:INDEX|TABLE) )(\w+(?:, \w+)+);?$/;

export const splitStatements = (text: string): string[] =>
  text
    .split(STATEMENT)
    .filter((part) => part.trim())
    .flatMap((statement) => {
      const [, drop, names] = DROPPED.exec(statement) ?? [];
      return names?.split(', ').map((name) => drop + name) ?? statement;
    });
