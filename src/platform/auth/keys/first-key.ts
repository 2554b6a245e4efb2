import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { logger } from '../../process/logger.js';
import { InvalidSetting } from '../../config/setting.js';
import { commandText } from '../../command-text.js';

const FILE = 'first-key';

/** Writes the key to a file that only its owner can read, because output that is not a terminal may be a stored log. */
export function keepFirstKey(secret: string, dataDir: string): void {
  const file = join(resolve(dataDir), FILE);
  try {
    if (!existsSync(dataDir)) mkdirSync(dataDir, { mode: 0o700 }); // `recursive` never ends in /proc
    rmSync(file, { force: true });
    writeFileSync(file, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    throw new InvalidSetting(
      `an empty database needs an admin key, and it cannot be kept in ${file}: ${(error as Error).message}. ` +
        `Set DATA_DIR to a folder that can be written, or BOOTSTRAP_API_KEY to a key (${commandText('keys', 'generate')} makes one)`,
    );
  }
  logger.info(
    `the admin key of the new database is in ${file}: keep it elsewhere, and remove the file`,
  );
}

/** Returns the text that the first start prints on a terminal: the new key and a request that works unchanged. */
export const firstKeyGreeting = (secret: string, address: string): string => `
Skein made an admin key. It is shown this once:

  ${secret}

Record the start of a call:

  curl -s -u 'me:${secret}' -H 'Content-Type: application/json' ${address}/call/start \\
    -d '{"start":{"project_id":"acme/demo","op_name":"hello","started_at":"${new Date().toISOString()}","inputs":{"question":"What is a thread?"}}}'

API description: ${address}/docs
`;
