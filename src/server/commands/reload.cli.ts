import { askForReload, runCommand } from './command.js';
import { commandText } from '../../platform/command-text.js';

const USAGE = `${commandText('reload')}

Replaces the workers of the running service one by one, by those of the build on disk.`;

await runCommand(USAGE, async () => {
  const pid = askForReload();
  process.stdout.write(
    `process ${pid} was asked to replace its workers; its log reports the progress\n`,
  );
});
