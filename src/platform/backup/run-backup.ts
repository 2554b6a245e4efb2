import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../server/commands/backup.cli.js', import.meta.url));

/**
 * Runs the backup command in its own process, so that it does not compete with requests.
 * @throws Error with its message
 */
export async function runBackup(flag: '--due' | '--base', signal: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, [COMMAND, flag], {
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
    killSignal: 'SIGTERM', // it removes its unfinished files
  });
  let failed = '';
  child.stderr.on('data', (text) => (failed = `${failed}${String(text)}`.slice(-2000)));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(failed.trim().split('\n').at(-1) || `it ended with ${code}`);
}
