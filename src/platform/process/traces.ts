import type { Traces } from './request-trace.js';

let opened: Traces | undefined;

/** Those of the process; undefined while it does not trace itself. */
export const traces = (): Traces | undefined => opened;

/** Traces the requests from now on, if there is an address to send spans to. Without one nothing of OpenTelemetry is loaded. */
export async function startTraces({ otlpEndpoint }: { otlpEndpoint?: string | undefined }) {
  if (!otlpEndpoint) return;
  const { openTraces } = await import('./otlp-traces.js');
  opened = openTraces();
}

/** Sends what is left. */
export async function stopTraces(): Promise<void> {
  await opened?.stop();
}
