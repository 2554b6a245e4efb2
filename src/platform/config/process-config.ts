import { loadConfig } from './config.js';
import { type MisspeltSetting, misspeltSettings } from './misspelt-settings.js';

/**
 * The settings of this process, for its programs: `main.js` and the commands, how it logs, and `WIRE_DIALECT`. What belongs
 * to an app has its settings injected (`CONFIG`). One that is wrong ends the process here, whichever program it is.
 */
export const config = orExit(() => loadConfig(process.env));

/** Variables of this process that look like settings and are none. */
export const ownMisspeltSettings = (): MisspeltSetting[] => misspeltSettings(process.env);

/** The environment of a program that is not ours. */
export const environment = (): NodeJS.ProcessEnv => ({ ...process.env });

function orExit<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    process.stderr.write(`skein cannot start: ${(error as Error).message}\n`);
    return process.exit(1);
  }
}
