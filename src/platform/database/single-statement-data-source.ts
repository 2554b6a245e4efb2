import { DataSource, type QueryRunner, type ReplicationMode } from 'typeorm';

/**
 * Sends the statements of a text one by one, and each drops one thing, as Citus demands it: of a text with several it hands the whole to
 * the workers for each of them. What they answer is lost but for the last.
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

/** Up to the semicolon that is in no body, no text and no comment. */
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
