import type { NextFunction, Request, Response } from 'express';

const OTLP = /\/v1\/(traces|logs|metrics)$/;
const HEADERS = ['authorization', 'project_id'] as const;

/**
 * Makes middleware that decodes headers of OTLP exporters. Values of OTEL_EXPORTER_OTLP_HEADERS are percent-encoded,
 * and some exporters (Claude Code's) send them unchanged. No key, base64 text or project name contains a percent sign,
 * so a value with one is decoded.
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
