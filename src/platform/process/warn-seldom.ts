import { logger } from './logger.js';

const EVERY_MS = 10_000;
/** Most different texts at a time. Further ones are not logged. */
const MAX_TEXTS = 100;

/** Number of repeats of each text since its line. */
const repeats = new Map<string, number>();

/**
 * Logs a warning that very many requests may cause. The first is logged at once, and then at most every 10 s the number
 * of repeats. `fields` are logged with the first.
 */
export function warnSeldom(text: string, fields: object = {}): void {
  const count = repeats.get(text);
  if (count !== undefined) return void repeats.set(text, count + 1);
  if (repeats.size >= MAX_TEXTS) return;
  logger.warn(fields, text);
  repeats.set(text, 0);
  setTimeout(() => {
    const again = repeats.get(text)!;
    repeats.delete(text);
    if (again > 0)
      logger.warn({ again }, `${text}: ${again} more in the last ${EVERY_MS / 1000} s`);
  }, EVERY_MS).unref();
}
