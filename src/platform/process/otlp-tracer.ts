import {
  type Context,
  defaultTextMapGetter,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { VERSION } from '../config/version.js';
import type { RequestTrace, SelfTracer } from './request-trace.js';
import { warnSeldom } from './warn-seldom.js';

/**
 * Header of Skein's own span exports. Skein traces no request with it. A Skein that receives its own spans makes no
 * spans about spans, and neither do two that send theirs to each other.
 */
const OWN_EXPORT = 'x-skein-traces';
/** Probes and scrapes are frequent and not worth a trace. */
const UNTRACED = /^\/(health|ready|metrics)\/?$/i;
/** Longest wait for the receiver at a stop. */
const STOP_MS = 3000;

/**
 * Traces requests with the OpenTelemetry SDK. It reads OTEL_EXPORTER_OTLP_…, OTEL_SERVICE_NAME,
 * OTEL_RESOURCE_ATTRIBUTES and OTEL_TRACES_SAMPLER from the environment.
 */
export function openOtlpTracer(): SelfTracer {
  const say = (...told: unknown[]) => warnSeldom(`spans: ${String(told[0]).slice(0, 200)}`);
  const silent = () => {};
  const levels = { info: silent, debug: silent, verbose: silent };
  diag.setLogger({ error: say, warn: say, ...levels }, DiagLogLevel.WARN);
  const named = resourceFromAttributes({ 'service.name': 'skein', 'service.version': VERSION });
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(named)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [
      new BatchSpanProcessor(new OTLPTraceExporter({ headers: { [OWN_EXPORT]: '1' } })),
    ],
  });
  const tracer = provider.getTracer('skein', VERSION);
  const propagator = new W3CTraceContextPropagator();

  /** Begins the span of a request. Its parent is the client's `traceparent`, if the request has one. */
  const begun = (parent: Context): RequestTrace => {
    const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, parent);
    const inside = trace.setSpan(ROOT_CONTEXT, span);
    return {
      statement(name) {
        const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
        const statement = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, inside);
        return ({ rows, error, ms }) => {
          if (rows !== undefined) statement.setAttribute('db.response.returned_rows', rows);
          if (ms !== undefined) statement.setAttribute('skein.database_ms', ms);
          if (error) {
            const code = (error as { code?: string }).code ?? 'failed';
            statement.setAttribute('error.type', code);
            statement.setStatus({ code: SpanStatusCode.ERROR, message: code });
          }
          statement.end();
        };
      },
      end({ method, route, status, attributes }) {
        span.updateName(route ? `${method} ${route}` : method);
        span.setAttributes({ 'http.request.method': method, ...attributes });
        if (route) span.setAttribute('http.route', route);
        if (status !== 'cut') span.setAttribute('http.response.status_code', status);
        if (status === 'cut' || status >= 500)
          span.setStatus({ code: SpanStatusCode.ERROR, message: String(status) });
        span.end();
      },
    };
  };

  return {
    request: (headers, path) =>
      OWN_EXPORT in headers || UNTRACED.test(path)
        ? undefined
        : begun(propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)),
    async stop() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, STOP_MS).unref());
      await Promise.race([provider.shutdown().catch(() => {}), late]);
    },
  };
}
