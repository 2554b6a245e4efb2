import 'reflect-metadata';
import { runCommand, printOutput, withDatabase } from './command.js';
import { config } from '../../platform/config/process-config.js';
import { distribute } from '../../platform/database/distribute.js';
import { changingSchema, migrate } from '../../platform/database/migrate.js';
import { commandText } from '../../platform/command-text.js';

const USAGE = `${commandText('distribute')}

Spreads the tables over the nodes of a Citus cluster, by project.`;

await runCommand(USAGE, () =>
  withDatabase(
    async (dataSource) => {
      await migrate(dataSource, config);
      const tables = await changingSchema(dataSource, distribute);
      const what =
        tables.length > 0 ? `distributed: ${tables.join(', ')}` : 'every table is distributed';
      printOutput(what);
    },
    { makes: 'tables' },
  ),
);
