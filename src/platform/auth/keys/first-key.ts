import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DataSource } from 'typeorm';
import { KeyUses } from '../../audit/key-uses.js';
import { commandText } from '../../command-text.js';
import type { Config } from '../../config/config.js';
import { InvalidSetting } from '../../config/setting.js';
import { oneLock, withLock } from '../../database/advisory-locks.js';
import { Database } from '../../database/database.js';
import { logger } from '../../process/logger.js';
import { FailedAttempts } from '../limits/failed-attempts.js';
import { KeysService } from './keys.service.js';
import { isSecret, newSecret } from './secret.js';

const FILE = 'first-key';

/** Ensures that replicas that start together on an empty database make only one key. */
const FIRST_KEY = oneLock(126_862_167_207_539);

/** @throws InvalidSetting when the given key does not have the format of a key. */
export function assertBootstrapKey(given: string | undefined): void {
  if (given !== undefined && !isSecret(given))
    throw new InvalidSetting(
      'BOOTSTRAP_API_KEY must be a key: skn_, 30 letters or digits and their 6 check characters',
    );
}

/**
 * Stores the admin key of an empty database: `BOOTSTRAP_API_KEY`, or a new key. `show` receives a new key before it is
 * stored, so a key that cannot be shown is never made.
 */
export async function firstKey(
  dataSource: DataSource,
  config: Config,
  show: (secret: string) => void,
): Promise<void> {
  const given = config.bootstrapApiKey;
  const database = new Database(dataSource, config);
  const keys = new KeysService(database, new FailedAttempts(), new KeyUses(database), config);
  await withLock(dataSource, FIRST_KEY, async () => {
    if (await keys.hasAny()) return;
    const secret = given ?? newSecret();
    if (given === undefined) show(secret);
    await keys.create(
      { userName: 'admin', role: 'admin', scopes: ['*'] },
      { keyId: null, userName: 'first start' },
      secret,
    );
  });
}

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
    `the admin key of the new database is in ${file}: store it elsewhere, and remove the file`,
  );
}

/** Returns the text that the first start prints on a terminal: the new key and a request that works unchanged. */
export const firstKeyGreeting = (secret: string, address: string): string => `
Skein made an admin key. It is shown only once:

  ${secret}

Record the start of a call:

  curl -s -u 'me:${secret}' -H 'Content-Type: application/json' ${address}/call/start \\
    -d '{"start":{"project_id":"acme/demo","op_name":"hello","started_at":"${new Date().toISOString()}","inputs":{"question":"What is a thread?"}}}'

API description: ${address}/docs
`;
