// A program of a user of the OpenTelemetry SDK for JavaScript. The argument chooses the exporter: json, protobuf or
// grpc.
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as GrpcExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const Exporter = { json: JsonExporter, protobuf: ProtobufExporter, grpc: GrpcExporter }[
  process.argv[2]
];
const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'travel' }),
  spanProcessors: [new BatchSpanProcessor(new Exporter())], // environment variables set the URL, the key and the protocol
});
const tracer = provider.getTracer('agents', '1.2.3');

const start = Date.now(); // starts differ by a millisecond, so that the order of the calls is known
const agent = tracer.startSpan('invoke_agent travel', {
  startTime: start,
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.conversation.id': 'trip-7' },
});
const inAgent = trace.setSpan(context.active(), agent);

const chat = tracer.startSpan(
  'chat gpt-4o',
  {
    startTime: start + 1,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 200,
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', content: 'Rome?' }]),
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', content: 'Go in May.' }]),
    },
  },
  inAgent,
);
chat.end();

const tool = tracer.startSpan(
  'execute_tool weather',
  { startTime: start + 2, attributes: { 'gen_ai.tool.call.arguments': '{"city":"Rome"}' } },
  inAgent,
);
tool.recordException(new TypeError('no such city'));
tool.setStatus({ code: SpanStatusCode.ERROR, message: 'failed' });
tool.end();
agent.end();

await provider.forceFlush();
await provider.shutdown();
console.log(JSON.stringify({ traceId: agent.spanContext().traceId }));
