import { askForReload, command } from './command.js';
import { typed } from '../../platform/program.js';

const USAGE = `${typed('reload')}

Replaces the workers of the running service one by one, by those of the build on disk.`;

await command(USAGE, async () => {
  const pid = askForReload();
  process.stdout.write(
    `process ${pid} was asked to replace its workers; its log tells how it goes\n`,
  );
});
