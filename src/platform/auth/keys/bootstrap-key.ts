import type { DataSource } from 'typeorm';
import type { Config } from '../../config/config.js';
import { InvalidSetting } from '../../config/setting.js';
import { KeyUses } from '../../audit/key-uses.js';
import { oneLock, withLock } from '../../database/advisory-locks.js';
import { Database } from '../../database/database.js';
import { FailedAttempts } from '../limits/failed-attempts.js';
import { KeysService } from './keys.service.js';
import { isSecret, newSecret } from './secret.js';

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
