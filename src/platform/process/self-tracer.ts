import type { SelfTracer } from './request-trace.js';

let openedTracer: SelfTracer | undefined;

/** Returns the tracer of the process. Undefined while it does not trace itself. */
export const selfTracer = (): SelfTracer | undefined => openedTracer;

/** Starts to trace requests, if an endpoint for spans is set. Otherwise nothing of OpenTelemetry is loaded. */
export async function startSelfTracing({ otlpEndpoint }: { otlpEndpoint?: string | undefined }) {
  if (!otlpEndpoint) return;
  const { openOtlpTracer } = await import('./otlp-tracer.js');
  openedTracer = openOtlpTracer();
}

export async function stopSelfTracing(): Promise<void> {
  await openedTracer?.stop();
}
