import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { isObject } from '../../platform/json/json-object.js';

const VERSION_OF_REQUEST = 'io.modelcontextprotocol/protocolVersion';
/** JSON-RPC reserves the codes -32000 to -32099 for servers. */
const SERVER_ERROR = -32_000;

interface Remote {
  /** URL of the service, without a path. */
  url: string;
  key: string;
}

/**
 * Forwards each message on stdin to a service, and writes the answers to stdout. Returns when stdin has ended and all
 * messages are answered.
 */
export async function forwardMessages(
  remote: Remote,
  input: Readable,
  output: Writable,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    const passing = answerTo(line, remote).then((answer) => {
      underWay.delete(passing);
      if (answer !== '') output.write(`${answer}\n`);
    });
    underWay.add(passing);
  }
  await Promise.all(underWay);
}

/**
 * Returns the answer to a message as one line, or an empty text for a notification. The message is sent unchanged, so
 * that numbers keep their digits.
 */
async function answerTo(line: string, { url, key }: Remote): Promise<string> {
  const message = parsed(line);
  const id = isObject(message) ? message['id'] : undefined;
  try {
    const response = await fetch(new URL('/mcp', url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...standardHeaders(message),
      },
      body: line,
    });
    const text = await response.text();
    const answer = parsed(text);
    if (isObject(answer) && 'jsonrpc' in answer) return JSON.stringify(answer);
    return response.ok || id === undefined
      ? ''
      : failure(id, refusalText(answer, response), answer);
  } catch (error) {
    const { cause, message: why } = error as Error;
    const told = cause instanceof Error ? cause.message : why;
    return id === undefined ? '' : failure(id, `${url} cannot be reached: ${told}`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const refusalText = (answer: unknown, { status, statusText }: Response): string =>
  isObject(answer) && typeof answer['detail'] === 'string'
    ? answer['detail']
    : `${status} ${statusText}`;

const failure = (id: unknown, message: string, data?: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code: SERVER_ERROR, message, data } });

/** Returns headers that repeat values of the message; the protocol of 2026 requires them. */
function standardHeaders(message: unknown): Record<string, string> {
  if (!isObject(message) || !isObject(message['params'])) return {};
  const { method, params } = message as { method: unknown; params: Record<string, unknown> };
  const meta = params['_meta'];
  const version = isObject(meta) ? meta[VERSION_OF_REQUEST] : undefined;
  if (typeof version !== 'string' || typeof method !== 'string') return {};
  const name = params['name'] ?? params['uri'];
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': headerText(name) }),
  };
}

/** Headers hold printable ASCII. Other text is sent in the protocol's Base64 form. */
const headerText = (text: string): string =>
  /^[\x21-\x7e]+$/.test(text) && !text.startsWith('=?')
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`;
