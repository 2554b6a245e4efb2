import type { LoggerService } from '@nestjs/common';
import { pino } from 'pino';
import { PinoPretty as pretty } from 'pino-pretty';
import { config } from '../config/process-config.js';

/**
 * Logs one JSON object a line on standard output, or readable lines on a terminal. From clients' data it logs only ids
 * and names (of projects, routes and indexed fields), never a header or a value of a document.
 */
export const logger = pino(
  {
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    // An error of the driver also contains the statement and its values.
    serializers: {
      err: ({ name, message, code, stack }: NodeJS.ErrnoException) => ({
        name,
        message,
        code,
        stack,
      }),
    },
  },
  config.logFormat === 'pretty'
    ? pretty({ sync: true, colorize: process.stdout.isTTY })
    : pino.destination({ sync: true }),
);

type Level = 'info' | 'error' | 'warn' | 'debug' | 'trace' | 'fatal';

/** The logger of Nest and of the features. The last argument is the context. */
export class PinoLoggerService implements LoggerService {
  private write(level: Level, message: unknown, rest: unknown[]): void {
    const context = rest.findLast((value) => typeof value === 'string' && !value.includes('\n'));
    if (message instanceof Error) logger[level]({ context, err: message }, message.message);
    else if (typeof message === 'object') logger[level]({ context, ...message });
    else logger[level]({ context }, message as string);
  }
  /** Logs at `debug`, because Nest logs every module and route at this level. */
  log(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }
}
