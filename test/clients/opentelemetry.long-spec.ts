import { basic } from '../support/app.js';
import { callTree, runClient, startWeaveServer, type WeaveServer } from '../support/client.js';

const grpcUrl = ({ output }: WeaveServer) =>
  /gRPC is accepted on (http:\/\/[^"\s]+)/.exec(output())![1]!;

/** Runs the published SDK and exporters, unmodified, in a process of their own. */
describe.each([
  ['http', 'json'],
  ['proto', 'protobuf'],
  ['grpc', 'grpc'],
])('npm @opentelemetry/exporter-trace-otlp-%s', (_, form) => {
  let server: WeaveServer;
  beforeAll(async () => {
    server = await startWeaveServer({ OTLP_GRPC_PORT: '0' });
  });
  afterAll(() => server.close());

  it.each(['none', 'gzip'])(
    'sends a trace (compression: %s) that arrives as a tree',
    async (zip) => {
      const project_id = `acme/${form}-${zip}`;
      const seen = await runClient(
        process.execPath,
        ['test/clients/opentelemetry.program.mjs', form],
        {
          OTEL_EXPORTER_OTLP_ENDPOINT: form === 'grpc' ? grpcUrl(server) : `${server.url}/otel`,
          OTEL_EXPORTER_OTLP_HEADERS: `authorization=${encodeURIComponent(basic(server.key))},project_id=${encodeURIComponent(project_id)}`,
          OTEL_EXPORTER_OTLP_COMPRESSION: zip,
        },
      );

      const calls = await server.callsOf(project_id);
      expect(callTree(calls)).toEqual([
        [
          'invoke_agent travel',
          'success',
          [
            ['chat gpt-4o', 'success', []],
            ['execute_tool weather', 'error', []],
          ],
        ],
      ]);
      const [agent, chat, tool] = calls;
      expect(agent).toMatchObject({
        trace_id: seen.traceId,
        thread_id: 'trip-7',
        turn_id: agent.id,
        attributes: { resource: { 'service.name': 'travel' }, scope: { name: 'agents' } },
      });
      expect(chat).toMatchObject({
        inputs: { messages: [{ role: 'user', content: 'Rome?' }] },
        output: { messages: [{ role: 'assistant', content: 'Go in May.' }] },
        summary: {
          usage: { 'gpt-4o': { requests: 1, prompt_tokens: 1000, completion_tokens: 200 } },
          weave: {
            costs: {
              'gpt-4o': { prompt_tokens_total_cost: 0.0025, completion_tokens_total_cost: 0.002 },
            },
          },
        },
        attributes: { otel_span: { name: 'chat gpt-4o', kind: 1, spanId: chat.id } },
      });
      expect(tool).toMatchObject({ inputs: { city: 'Rome' }, exception: expect.any(String) });
      expect(tool.exception).toContain('TypeError: no such city');
    },
  );
});
