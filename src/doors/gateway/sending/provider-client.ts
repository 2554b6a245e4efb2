import { Agent as PlainAgent, type IncomingMessage, request as requestPlain } from 'node:http';
import { Agent, request as requestSecure } from 'node:https';
import type { ModelProvider } from '../../../platform/config/gateway-settings.js';
import { ApiError } from '../../../platform/errors.js';

/** How long an idle connection to a provider is kept. Most servers close theirs later. */
const KEEP_ALIVE_MS = 4000;
const OPTIONS = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS, timeout: KEEP_ALIVE_MS };
const plain = new PlainAgent(OPTIONS);
const secure = new Agent(OPTIONS);

/** Creates the error for a provider that failed. The message names the provider and quotes nothing of its answer. */
export const providerFailed = (provider: ModelProvider, what: string, cause?: unknown) =>
  new ApiError('provider_failed', `the provider ${provider.name} ${what}`, { cause });

interface RefusedResponse {
  status: number;
  type: string;
  body: Buffer;
  headers: Record<string, string>;
}

/** The error response of a provider, which is forwarded to the client unchanged. */
export class ProviderRefusal extends Error {
  constructor(
    message: string,
    readonly refused: RefusedResponse,
  ) {
    super(message);
  }
}

interface ProviderRequest {
  url: URL;
  body: Buffer;
  headers: Record<string, string>;
  signal: AbortSignal;
}

/**
 * Sends a request to a provider, and resolves when the head of the answer has arrived. Redirects are not followed: the
 * service connects only to addresses that the operator set. If the provider closed an idle connection, the request is
 * sent once more, because the provider has read nothing of it.
 * @throws ApiError `provider_failed`, or the reason of the signal
 */
export async function requestProvider(
  provider: ModelProvider,
  request: ProviderRequest,
): Promise<IncomingMessage> {
  try {
    return await requestOnce(provider, request);
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error;
    return requestOnce(provider, request, true);
  }
}

class StaleConnection extends Error {}

function requestOnce(
  provider: ModelProvider,
  { url, body, headers, signal }: ProviderRequest,
  isLast = false,
): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const sent = (isSecure ? requestSecure : requestPlain)(url, {
      method: 'POST',
      agent: isLast ? false : isSecure ? secure : plain,
      headers: { ...headers, 'content-length': body.length },
    });
    const late = setTimeout(
      () =>
        end(providerFailed(provider, `did not begin to answer in ${provider.firstByteSeconds} s`)),
      provider.firstByteSeconds * 1000,
    );
    const leave = () => end(signal.reason);
    const end = (reason: unknown) => {
      settle();
      reject(reason);
      sent.destroy();
    };
    const settle = () => {
      clearTimeout(late);
      signal.removeEventListener('abort', leave);
    };
    sent.on('error', (error) => {
      settle();
      const { code } = error as NodeJS.ErrnoException;
      const isStale = sent.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');
      reject(
        isStale && !isLast
          ? new StaleConnection()
          : providerFailed(provider, 'cannot be reached', error),
      );
    });
    sent.on('upgrade', ({ statusCode }, socket) => {
      socket.destroy();
      end(providerFailed(provider, `answered ${statusCode}, which is not followed`));
    });
    sent.on('response', (answer) => {
      settle();
      resolve(answer);
    });
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave);
    sent.end(body);
  });
}
