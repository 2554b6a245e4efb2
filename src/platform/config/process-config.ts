import { loadConfig } from './config.js';
import { type MisspeltSetting, misspeltSettings } from './misspelt-settings.js';

/**
 * Settings of this process, for its programs: `main.js` and the commands, logging, and `WIRE_DIALECT`. Classes of an
 * app get their settings injected (`CONFIG`). An invalid setting ends the process here, in every program.
 */
export const config = orExit(() => loadConfig(process.env));

export const ownMisspeltSettings = (): MisspeltSetting[] => misspeltSettings(process.env);

/** Returns a copy of the environment, for programs of others. */
export const environment = (): NodeJS.ProcessEnv => ({ ...process.env });

function orExit<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    process.stderr.write(`skein cannot start: ${(error as Error).message}\n`);
    return process.exit(1);
  }
}
