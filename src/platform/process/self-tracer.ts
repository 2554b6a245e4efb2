import type { SelfTracer } from './request-trace.js';

let openedTracer: SelfTracer | undefined;

/** Those of the process; undefined while it does not trace itself. */
export const selfTracer = (): SelfTracer | undefined => openedTracer;

/** Traces the requests from now on, if there is an address to send spans to. Without one nothing of OpenTelemetry is loaded. */
export async function startSelfTracing({ otlpEndpoint }: { otlpEndpoint?: string | undefined }) {
  if (!otlpEndpoint) return;
  const { openOtlpTracer } = await import('./otlp-tracer.js');
  openedTracer = openOtlpTracer();
}

/** Sends what is left. */
export async function stopSelfTracing(): Promise<void> {
  await openedTracer?.stop();
}
