import 'reflect-metadata';
import { runCommand, printOutput, withDatabase } from './command.js';
import { config } from '../../platform/config/process-config.js';
import { migrate } from '../../platform/database/migrate.js';
import { commandText } from '../../platform/command-text.js';

const USAGE = `${commandText('migrate')}

Brings the schema to the newest migration, as a start does too.`;

await runCommand(USAGE, () =>
  withDatabase(
    async (dataSource) => {
      const done = await migrate(dataSource, config);
      const what = done.length > 0 ? `migrated: ${done.join(', ')}` : 'the schema is up to date';
      printOutput(what);
    },
    { makes: 'tables' },
  ),
);
