import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { TestApp } from './app.js';

export interface ToolAnswer {
  isError: boolean;
  /** The text of each block. */
  texts: string[];
  /** The first line of the answer, which the service writes itself. */
  words: string;
  /** The recorded data, parsed from the block between the two marker lines. */
  data: any;
  /** Bytes that the model reads. */
  bytes: number;
}

export async function aClient(
  { url }: Pick<TestApp, 'url'>,
  authorization: string,
  version?: string,
): Promise<Client> {
  const options = version === undefined ? {} : { versionNegotiation: { mode: { pin: version } } };
  const client = new Client({ name: 'test', version: '1' }, options);
  const requestInit = { headers: { authorization } };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit }));
  return client;
}

export async function callTool(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<ToolAnswer> {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const texts = content.map((block) => (block as { text: string }).text);
  return {
    isError: isError === true,
    texts,
    words: texts[0]!.split('\n')[0]!,
    data: isError ? JSON.parse(texts[0]!) : recordedIn(texts[1]),
    bytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
  };
}

/**
 * Parses a block of recorded data.
 * @throws Error when the block is not one JSON text between its two marker lines
 */
export function recordedIn(block: string | undefined): any {
  if (block === undefined) return undefined;
  const [, name, text] = /^<(recorded-[0-9a-f]{16})>\n([^]*)\n<\/\1>$/.exec(block) ?? [];
  if (name === undefined || text!.includes(name)) throw new Error(`is no block: ${block}`);
  return JSON.parse(text!);
}
