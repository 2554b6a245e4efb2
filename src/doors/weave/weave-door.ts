import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../../platform/config/config.js';
import { inDialect, WEAVE_DOOR } from '../../platform/http/wire-names.js';

/** Answers requests below `/weave` in weave's names. With `WIRE_DIALECT=weave` the root does the same. */
export function weaveDoor({ wireDialect }: Config) {
  return (request: IncomingMessage, _: ServerResponse, next: () => void): void => {
    const isBelow = request.url!.startsWith(`${WEAVE_DOOR}/`);
    if (isBelow) request.url = request.url!.slice(WEAVE_DOOR.length);
    const dialect = isBelow ? 'weave' : wireDialect;
    if (dialect === 'svc') next();
    else inDialect(dialect, next);
  };
}
