import { readFileSync } from 'node:fs';

/** The recorded spans of a client (scripts/record-otlp.mjs) as a body of `/otel/v1/traces`. */
export function recordedTraces(name: string): { resourceSpans: any[] } {
  const { spans } = JSON.parse(readFileSync(`test/fixtures/otlp/${name}.json`, 'utf8'));
  return {
    resourceSpans: spans.map(({ origin, span }: any) => ({
      resource: origin.resource,
      scopeSpans: [{ scope: origin.scope, spans: [span] }],
    })),
  };
}
