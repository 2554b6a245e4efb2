import { join } from 'node:path';
import { runClient, startWeaveServer, type WeaveServer } from '../support/client.js';

/** Set by `npm run test:clients`, which creates the environment. Without it these tests are skipped. */
const folder = process.env['SKEIN_CLIENTS_VENV'];
const describeAll = folder ? describe : describe.skip;
const PATIENCE_MS = 300_000;

let server: WeaveServer;
beforeAll(async () => {
  if (folder) server = await startWeaveServer();
}, PATIENCE_MS);
afterAll(() => server?.close());

describeAll('PyPI weave', () => {
  it(
    'records conversations, and reads its agents, spans, turns, statistics and messages',
    async () => {
      const seen = await runClient(
        join(folder!, 'bin/python'),
        ['test/clients/weave-agents.program.py'],
        server.settings,
      );
      expect(seen.agents).toMatchObject([
        { agent_name: 'critic', invocation_count: 1, error_count: 1 },
        {
          agent_name: 'planner',
          invocation_count: 2,
          total_input_tokens: 257,
          total_output_tokens: 28,
        },
      ]);
      expect(seen.versions.map((one: any) => [one.agent_version, one.total_input_tokens])).toEqual([
        ['', 7],
        ['2', 250],
      ]);
      expect([seen.spans.length, seen.count]).toEqual([7, 2]);
      const linked = seen.spans.filter((one: any) => one.parent_call_id === seen.call);
      expect(linked.map((one: any) => one.operation_name)).toEqual(['chat', 'invoke_agent']);
      expect(seen.turns).toMatchObject({ conversation_id: 'talk 1', total_turns: 2 });
      expect(
        seen.turn.messages.map((one: any) => [
          one.type,
          one[one.type].text ?? one[one.type].tool_name,
        ]),
      ).toEqual([
        ['user_message', 'Where to?'],
        ['agent_start', undefined],
        ['assistant_message', 'Let me look'],
        ['tool_call', 'lookup'],
        ['assistant_message', 'Rome, it is sunny'],
      ]);
      const sums = seen.stats.rows.map((row: any) => [row.operation, row.tokens_sum]);
      const chats = sums.filter(([operation]: any) => operation === 'chat');
      expect(chats.reduce((sum: number, [, tokens]: any) => sum + tokens, 0)).toBe(257);
      expect(seen.attributes.attributes).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ key: 'team', value_type: 'string' }),
          expect.objectContaining({ key: 'attempt', value_type: 'int' }),
        ]),
      );
      expect(seen.search.results[0].conversation_id).toBe('talk 1');
      expect(seen.search.results[0].matched_messages.map((one: any) => one.role)).toContain(
        'assistant',
      );
    },
    PATIENCE_MS,
  );
});
