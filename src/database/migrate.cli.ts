import 'reflect-metadata';
import { withDatabase } from '../command.js';
import { migrate } from './migrate.js';

// npm run migrate: brings the schema to the newest migration, as a start does too.
await withDatabase(async (dataSource) => {
  const done = await migrate(dataSource);
  process.stdout.write(
    done.length > 0 ? `migrated: ${done.join(', ')}\n` : 'the schema is up to date\n',
  );
});
