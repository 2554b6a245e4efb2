import { isObject } from '../../../../platform/json/json-object.js';
import { memberTexts, objectText, valueAt } from '../../../../platform/json/json-text.js';
import type { ModelRequest } from '../../gateway-exchange.js';
import type { JsonObject } from '../../gateway-request.js';
import type { ProviderAdapter, ProviderApi } from '../provider-adapter.js';
import { CompletionStreamReader } from './completion-stream.js';
import { ResponseStreamReader } from './response-stream.js';
import { EventStreamTransform, ResponseStreamTransform } from './stream-transforms.js';

/**
 * Returns the adapter of servers with OpenAI's APIs. `completionMembers` returns what such a server needs in a request
 * for a completion, beside the usage of a stream.
 */
export function openaiAdapter(completionMembers: ProviderApi['addedMembers']): ProviderAdapter {
  const completionApi = (object: string): ProviderApi => ({
    addedMembers: (request) => new Map([...usageMembers(request), ...completionMembers(request)]),
    newReader: () => new CompletionStreamReader(object),
    newTransform: (body) => new EventStreamTransform(isUsageAdded(body)),
  });
  return {
    url: (baseUrl, api) => `${baseUrl}/${api}`,
    authHeaders: (key) => ({ authorization: `Bearer ${key}` }),
    usageMember: 'usage',
    apis: {
      'chat/completions': completionApi('chat.completion'),
      completions: completionApi('text_completion'),
      responses: {
        addedMembers: () => new Map(), // responses always report their usage
        newReader: () => new ResponseStreamReader(),
        newTransform: () => new ResponseStreamTransform(),
      },
    },
  };
}

export const openai = openaiAdapter(() => new Map());

/** Returns true for a stream whose client did not request the usage. The gateway adds this request. */
const isUsageAdded = ({ stream, stream_options: options }: JsonObject): boolean =>
  stream === true && !(isObject(options) && options['include_usage'] === true);

function usageMembers({ body, text }: ModelRequest): Map<string, string> {
  if (!isUsageAdded(body)) return new Map();
  const sent = isObject(body['stream_options']) ? valueAt(text, 'stream_options') : '{}';
  const options = memberTexts(sent).set('include_usage', 'true');
  return new Map([['stream_options', objectText(options)]]);
}
