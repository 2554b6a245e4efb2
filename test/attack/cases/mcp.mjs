// Attacks on the MCP door.
import { aBatch, AT, many, PROJECT, times } from '../client.mjs';

const MIB = 1024 * 1024;

/** Calls a tool. Returns the answer. */
const tool = (it, name, args, options = {}) =>
  it.send(
    '/mcp',
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { project_id: PROJECT, ...args } },
    },
    { ...options, headers: { accept: 'application/json, text/event-stream', ...options.headers } },
  );

/** Returns a document of about this many bytes with as many values as fit. */
const manyValues = (bytes, seed) =>
  `{${times(bytes / 16, (i) => `"k${i}":${(i + seed) % 1e6}`).join(',')}}`;

async function storeCall(it, id, inputs) {
  const start = `{"project_id":"${PROJECT}","id":"${id}","op_name":"mcp","started_at":"${AT}","inputs":${inputs}}`;
  const { status } = await it.send('/call/start', `{"start":${start}}`);
  it.must(status === 200, `the call ${id} was not stored: ${status}`);
}

export const cases = [
  {
    name: 'mcp: comparing calls of 1 MB whose every value differs, many at once',
    isQuick: true,
    async attack(it) {
      const size = 800_000;
      await storeCall(it, 'mcp-a', manyValues(size, 0));
      await storeCall(it, 'mcp-b', manyValues(size, 1));
      await Promise.all(
        times(it.options.isQuick ? 12 : 100, () =>
          tool(it, 'compare_calls', { left: 'mcp-a', right: 'mcp-b', max_tokens: 25_000 }),
        ),
      );
    },
  },
  {
    name: 'mcp: parts of a call of 30 MiB, 200 of them, from its middle',
    isQuick: true,
    async attack(it) {
      await storeCall(it, 'mcp-large', `{"text":"${'x'.repeat(30 * MIB)}"}`);
      await many(it.options.isQuick ? 24 : 200, 24, (i) =>
        tool(it, 'read_call', {
          id: 'mcp-large',
          part: 'inputs',
          offset: 15 * MIB + i,
          max_tokens: 25_000,
        }),
      );
    },
  },
  {
    name: 'mcp: a trace that is one chain, read whole by many with payloads',
    isQuick: true,
    async attack(it) {
      const length = it.options.isQuick ? 2000 : 20_000;
      for (let from = 0; from < length; from += 1000)
        await it.send(
          '/call/upsert_batch',
          aBatch(
            times(1000, (n) => ({
              id: `mcp-${from + n}`,
              trace_id: 'mcp-chain',
              parent_id: from + n === 0 ? null : `mcp-${from + n - 1}`,
              inputs: { text: 'x'.repeat(1000) },
            })),
          ),
        );
      const call_ids = times(20, (i) => `mcp-${i}`);
      await many(it.options.isQuick ? 24 : 200, 24, () =>
        tool(it, 'read_trace', { trace_id: 'mcp-chain', call_ids, max_tokens: 25_000 }),
      );
    },
  },
  {
    name: 'mcp: messages that are deep, wide, wrong or for another project',
    isQuick: true,
    async attack(it) {
      const deep = `${'{"a":'.repeat(300_000)}1${'}'.repeat(300_000)}`;
      const message = (params) =>
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
      const headers = { accept: 'application/json, text/event-stream' };
      const texts = [
        message(deep),
        message(`{"name":"search_calls","arguments":${deep}}`),
        message(`{"name":"search_calls","arguments":{"project_id":"${PROJECT}","query":${deep}}}`),
        `[${times(20_000, () => message('{"name":"list_projects","arguments":{}}')).join(',')}]`,
        message(`{"name":"${'x'.repeat(MIB)}","arguments":{}}`),
        message(`{"name":"read_call","arguments":${manyValues(MIB, 0)}}`),
      ];
      await many(texts.length * 4, 8, (i) => it.send('/mcp', texts[i % texts.length], { headers }));
      const foreign = await tool(it, 'search_calls', { project_id: 'other/project' });
      it.must(
        !foreign.text.includes('skein/recorded'),
        'a foreign project was read through a tool',
      );
    },
  },
];
