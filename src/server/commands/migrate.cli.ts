import 'reflect-metadata';
import { command, say, withDatabase } from './command.js';
import { config } from '../../platform/config/process-config.js';
import { migrate } from '../../platform/database/migrate.js';
import { typed } from '../../platform/program.js';

const USAGE = `${typed('migrate')}

Brings the schema to the newest migration, as a start does too.`;

await command(USAGE, () =>
  withDatabase(
    async (dataSource) => {
      const done = await migrate(dataSource, config);
      const what = done.length > 0 ? `migrated: ${done.join(', ')}` : 'the schema is up to date';
      say(what);
    },
    { makes: 'tables' },
  ),
);
