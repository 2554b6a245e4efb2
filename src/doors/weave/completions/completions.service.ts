import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/auth/caller.js';
import { CONFIG, type Config } from '../../../platform/config/config.js';
import { isOpenModel } from '../../../platform/config/gateway-settings.js';
import { invalidRequest } from '../../../platform/errors.js';
import type { Context } from '../../../platform/http/context.js';
import { DocumentReader } from '../../../platform/http/document-reader.js';
import { parseRef } from '../../../platform/http/refs.js';
import { isObject } from '../../../platform/json/json-object.js';
import {
  elementTexts,
  memberTexts,
  objectText,
  valueAt,
} from '../../../platform/json/json-text.js';
import { mapYielding } from '../../../platform/time/event-loop-turn.js';
import { ObjectsService } from '../../../tracing/objects/objects.service.js';
import { type JsonObject, recordedInputs, requestSpans } from '../../gateway/gateway-request.js';
import type { CompletionsCreateDto } from './completions.dto.js';
import type { ModelTarget } from '../../gateway/admission/model-names.service.js';
import { type CallContext, namedSession } from '../../gateway/call-context.js';
import type { WholeAnswer } from '../../gateway/gateway-exchange.js';
import { MAX_MODEL } from '../../gateway/gateway.dto.js';
import { GatewayService } from '../../gateway/gateway.service.js';
import { JsonLinesTransform } from './json-lines-transform.js';

/** Members of `inputs` that are meant for Skein or for libraries. They are not sent to the provider. */
const OWN_MEMBERS = new Set([
  'prompt',
  'template_vars',
  'vertex_credentials',
  'extra_headers',
  'api_key',
  'api_version',
  'timeout',
  'stream',
]);
/** Maximum number of characters that template values may add to the messages. */
const MAX_FILLED = 1024 * 1024;

type ModelRequest = JsonObject & { model: string };

/** Serves requests for models in the shape that Weave's playground and judges send. */
@Injectable()
export class CompletionsService {
  constructor(
    private readonly gateway: GatewayService,
    private readonly objects: ObjectsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Returns null when the answer was streamed to the client.
   * @throws ProviderRefusal, ApiError
   */
  async ask(
    body: CompletionsCreateDto,
    context: Context,
    isStream: boolean,
  ): Promise<WholeAnswer | null> {
    const sent = valueAt(context.text, 'inputs');
    requestSpans(sent);
    const inputs = body.inputs as JsonObject;
    const { model } = inputs;
    if (typeof model !== 'string' || model === '' || model.length > MAX_MODEL)
      throw invalidRequest([{ path: 'inputs.model', message: 'must be the name of a model' }]);
    const custom = await this.customTarget(model, body.project_id);
    // clients of Weave send all members that exist, and providers refuse some that are null
    const isGiven = ([name, text]: [string, string]) => !OWN_MEMBERS.has(name) && text !== 'null';
    const members = new Map([...memberTexts(sent)].filter(isGiven));
    if (isStream) members.set('stream', 'true');
    members.set('messages', await this.messages(inputs, sent, context.caller));
    const text = objectText(members);
    const [request] = await new DocumentReader(context.hold).keep<ModelRequest>([text]);
    return this.gateway.ask(
      {
        api: 'chat/completions',
        opName: 'weave.completions_create',
        text,
        body: request!,
        inputs: recordedInputs(sent, inputs),
        callContext: callContext(body, context),
        record: body.track_llm_call === false ? 'none' : this.config.gatewayRecord,
        ...(isStream && { newTransform: (callId) => new JsonLinesTransform(callId) }),
        ...(custom && { target: custom }),
      },
      context,
    );
  }

  private async messages(inputs: JsonObject, sent: string, caller: Caller): Promise<string> {
    const own = Array.isArray(inputs['messages']) ? valueAt(sent, 'messages') : '[]';
    const texts = [...(await this.promptMessages(inputs['prompt'], caller)), ...elementTexts(own)];
    const { template_vars: given } = inputs;
    const fill = isObject(given) ? filler(given) : null;
    const filled = fill ? await mapYielding(texts, (text) => filledMessage(text, fill)) : texts;
    return `[${filled.join(',')}]`;
  }

  private async promptMessages(ref: unknown, caller: Caller): Promise<string[]> {
    if (ref === undefined || ref === null) return [];
    const parsed = typeof ref === 'string' ? parseRef(ref) : null;
    if (parsed?.kind !== 'object')
      throw invalidRequest([{ path: 'inputs.prompt', message: 'must be the ref of an object' }]);
    const { projectId: project_id, name: object_id, digest } = parsed;
    caller.assertReaches(project_id);
    const object = await this.objects.read({ project_id, object_id, digest: digest! });
    const value = valueAt(object, 'val');
    const messages = membersOf(value).get('messages');
    if (!messages?.startsWith('['))
      throw invalidRequest([
        { path: 'inputs.prompt', message: 'must lead to an object with messages' },
      ]);
    return elementTexts(messages);
  }

  /**
   * Finds the target of `custom::<provider>::<model>`, which names a provider object of the project. The `base_url` of
   * the object must be that of a provider in GATEWAY_PROVIDERS. The model must be open to every key, so that only the
   * operator decides which addresses and models are requested.
   */
  private async customTarget(model: string, project_id: string): Promise<ModelTarget | undefined> {
    const [, name, own = ''] = /^custom::([^:]+)::(.+)$/s.exec(model) ?? [];
    if (name === undefined) return undefined;
    const object = await this.objects.read({ project_id, object_id: name, digest: 'latest' });
    const url = textIn(membersOf(valueAt(object, 'val')), 'base_url');
    const providers = this.config.gatewayProviders.filter(
      ({ baseUrl }) =>
        typeof url === 'string' &&
        url.startsWith(baseUrl) &&
        /^\/*$/.test(url.slice(baseUrl.length)),
    );
    const refuse = (message: string) => invalidRequest([{ path: 'inputs.model', message }]);
    if (providers.length === 0)
      throw refuse(`names ${name}, whose base_url belongs to no provider in GATEWAY_PROVIDERS`);
    const provider = providers.find((one) => isOpenModel(one, own));
    if (!provider)
      throw refuse(
        `names ${own}, which is not one of the models that GATEWAY_PROVIDERS opens there`,
      );
    return { provider, model: own, checkpoint: null };
  }
}

function callContext(body: CompletionsCreateDto, context: Context): CallContext {
  const { conversation_name, source } = body;
  return {
    projectId: body.project_id,
    traceId: body.trace_id ?? null,
    parentId: body.parent_id ?? null,
    threadId: body.conversation_id ?? namedSession(context, body.inputs as JsonObject),
    turnId: null,
    attributes: JSON.stringify({
      ...(conversation_name && { conversation_name }),
      ...(source && { source }),
    }),
  };
}

/** Returns the texts of the members of an object. Anything else has none. */
const membersOf = (text: string): Map<string, string> =>
  text.startsWith('{') ? memberTexts(text) : new Map();

/** Returns a member that is a text. */
function textIn(members: ReadonlyMap<string, string>, name: string): string | undefined {
  const text = members.get(name);
  return text?.startsWith('"') ? (JSON.parse(text) as string) : undefined;
}

type Fill = (template: string) => string;

/**
 * Returns a function that replaces `{name}` by its value. Added characters are counted before the text is built,
 * because a short template may repeat a long value. Each placeholder counts as one more character.
 * @throws ApiError `invalid_request` from the returned function
 */
function filler(values: JsonObject): Fill {
  const said = new Map(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
  let added = 0;
  return (template) =>
    template.replaceAll(/\{(\w{1,128})\}/g, (found, name: string) => {
      const value = said.get(name);
      added += 1 + (value?.length ?? 0);
      if (added > MAX_FILLED)
        throw invalidRequest([
          { path: 'inputs.template_vars', message: `must not add over ${MAX_FILLED} characters` },
        ]);
      return value ?? found;
    });
}

function filledMessage(text: string, fill: Fill): string {
  const message = membersOf(text);
  if (textIn(message, 'role') === 'assistant') return text;
  const content = textIn(message, 'content');
  if (content !== undefined)
    return objectText(message.set('content', JSON.stringify(fill(content))));
  const list = message.get('content');
  if (!list?.startsWith('[')) return text;
  const parts = elementTexts(list).map((part) => {
    const members = membersOf(part);
    const template = textIn(members, 'text');
    return template === undefined
      ? part
      : objectText(members.set('text', JSON.stringify(fill(template))));
  });
  return objectText(message.set('content', `[${parts.join(',')}]`));
}
