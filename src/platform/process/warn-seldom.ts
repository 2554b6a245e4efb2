import { logger } from './logger.js';

const EVERY_MS = 10_000;
/** Warnings that are told apart at a time; further ones are not logged. */
const MAX_TEXTS = 100;

/** How often each text was wanted since its line. */
const repeats = new Map<string, number>();

/**
 * Warns of what very many requests may meet at a time: at once, and then no more than every 10 s how often it was met again.
 * `fields` are those of the first.
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
