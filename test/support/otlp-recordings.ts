import { readFileSync } from 'node:fs';

/** The spans that a client exported (scripts/record-otlp.mjs), as a request to `/otel/v1/traces`. */
export function recordedTraces(name: string): { resourceSpans: any[] } {
  const { spans } = JSON.parse(readFileSync(`test/fixtures/otlp/${name}.json`, 'utf8'));
  return {
    resourceSpans: spans.map(({ origin, span }: any) => ({
      resource: origin.resource,
      scopeSpans: [{ scope: origin.scope, spans: [span] }],
    })),
  };
}
