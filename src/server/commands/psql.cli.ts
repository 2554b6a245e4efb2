import 'reflect-metadata';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { environment } from '../../platform/config/process-config.js';
import { newClient, withConnection } from '../../platform/pg/driver.js';
import { runCommand, flushOutput, printOutput, withPostgres } from './command.js';
import { commandText } from '../../platform/command-text.js';

const USAGE = `${commandText('psql', '[arguments of psql]')}
${commandText('psql', '-c STATEMENT')}

Runs psql on the database of the service, beside a running service too. With -c alone psql need not be installed: the rows are printed
as JSON, a line each. For upkeep, such as VACUUM (FULL) calls; the tables are changed by the service only.`;

/** Runs one or more statements as one request. A single statement runs without a transaction around it. */
async function runStatement(url: string, text: string): Promise<void> {
  await withConnection(url, async (client) => {
    const answers = await client.query(text).catch((error: Error) => {
      throw new Error(error.message, { cause: error }); // the message of the server is sufficient
    });
    for (const { command: what, rowCount, rows } of [answers].flat()) {
      for (const row of rows as unknown[]) {
        printOutput(JSON.stringify(row));
        await flushOutput();
      }
      if (rows.length === 0) printOutput(rowCount === null ? what : `${what} ${rowCount}`);
    }
  });
}

/** Runs psql. The password is passed in the environment, which other users of the machine cannot read. */
async function runPsql(url: string, argv: string[]): Promise<void> {
  const { password } = newClient({ connectionString: url });
  const address = url.replace(/^(\w+:\/\/[^/?#@:]*):[^/?#@]*@/, '$1@');
  const env = { ...environment(), ...(password && { PGPASSWORD: password }) };
  const child = spawn('psql', [address, ...argv], { stdio: 'inherit', env });
  const ignore = () => {}; // psql handles Ctrl-C
  process.on('SIGINT', ignore);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    process.exitCode = code ?? 1;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error(
      `psql is not installed: install it (Debian: apt-get install postgresql-client), or run ${commandText('psql', '-c STATEMENT')}`,
      { cause: error },
    );
  } finally {
    process.off('SIGINT', ignore);
  }
}

await runCommand(USAGE, () =>
  withPostgres({ mustExist: true }, (url) => {
    const [first, statement, ...others] = process.argv.slice(2);
    return first === '-c' && statement !== undefined && others.length === 0
      ? runStatement(url, statement)
      : runPsql(url, process.argv.slice(2));
  }),
);
