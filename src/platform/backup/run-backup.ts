import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../server/commands/backup.cli.js', import.meta.url));

/** Runs the command, which takes no turns with requests in a process of its own. @throws Error with what it said */
export async function runBackup(flag: '--due' | '--base', signal: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, [COMMAND, flag], {
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
    killSignal: 'SIGTERM', // it removes what it has begun
  });
  let failed = '';
  child.stderr.on('data', (text) => (failed = `${failed}${String(text)}`.slice(-2000)));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(failed.trim().split('\n').at(-1) || `it ended with ${code}`);
}
