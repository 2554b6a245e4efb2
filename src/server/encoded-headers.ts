import type { NextFunction, Request, Response } from 'express';

const OTLP = /\/v1\/(traces|logs|metrics)$/;
const HEADERS = ['authorization', 'project_id'] as const;

/**
 * Values of OTEL_EXPORTER_OTLP_HEADERS are percent-encoded, and some exporters (Claude Code's) send them so. No key, no base64 and no
 * name of a project has a percent sign, so one that has is decoded.
 */
export function decodeOtlpHeaders() {
  return ({ headers, path }: Request, _: Response, next: NextFunction): void => {
    for (const name of HEADERS) {
      const value = headers[name];
      if (typeof value === 'string' && value.includes('%') && OTLP.test(path))
        headers[name] = decoded(value);
    }
    next();
  };
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
