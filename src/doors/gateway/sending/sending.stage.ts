import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { ModelProvider } from '../../../platform/config/gateway-settings.js';
import type { Context } from '../../../platform/http/context.js';
import type { GatewayExchange } from '../gateway-exchange.js';
import { withMembers } from '../gateway-request.js';
import { ADAPTERS } from '../providers/adapters.js';
import { SecretRedactor } from '../relaying/secret-redactor.js';
import { providerFailed, requestProvider } from './provider-client.js';

export interface ProviderAnswer {
  /** The head of the answer; the body follows as a stream. */
  answer: IncomingMessage;
  /** Redacts the key that the provider was sent. */
  redactor: SecretRedactor;
}

/**
 * Sends a request to its provider, and resolves when the head of the answer has arrived.
 * @throws ApiError; Error when the client has left; the reason of `stop`
 */
export async function sendRequest(
  { request, context, target: { provider, model } }: GatewayExchange,
  stop: AbortSignal,
): Promise<ProviderAnswer> {
  const adapter = ADAPTERS[provider.engine];
  const key = await readKey(provider);
  const members = adapter.apis[request.api].addedMembers(request);
  if (model !== request.body.model) members.set('model', JSON.stringify(model));
  const answer = await requestProvider(provider, {
    url: new URL(adapter.url(provider.baseUrl, request.api)),
    headers: { ...requestHeaders(context), ...(key !== null && adapter.authHeaders(key)) },
    body: Buffer.from(withMembers(request.text, members)),
    signal: AbortSignal.any([context.signal, stop]),
  }).catch((error: unknown) => {
    throw context.signal.aborted ? new Error('the client left before the answer began') : error;
  });
  return { answer, redactor: new SecretRedactor(key) };
}

/**
 * Reads the key for each request, because keys are never kept in memory. Returns null when the provider needs no key.
 * @throws ApiError `provider_failed`
 */
async function readKey(provider: ModelProvider): Promise<string | null> {
  const { readKey: readVariable, keyFile } = provider;
  if (!readVariable && keyFile === undefined) return null;
  const text = readVariable
    ? readVariable()
    : await readFile(keyFile!, 'utf8').catch((error: unknown) => {
        throw providerFailed(provider, 'cannot be asked: its key cannot be read', error);
      });
  const key = text?.trim();
  if (key && /^[!-~]+$/.test(key)) return key;
  throw providerFailed(
    provider,
    'cannot be asked: its key is missing, or cannot stand in a header',
  );
}

function requestHeaders({ request, headers }: Context): Record<string, string> {
  const { traceparent } = headers;
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'user-agent': 'skein',
    'x-request-id': request.id,
    ...(typeof traceparent === 'string' && { traceparent }),
  };
}
