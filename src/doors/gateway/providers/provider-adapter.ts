import type { GatewayApi, ModelRequest } from '../gateway-exchange.js';
import type { StreamReader } from '../recording/recorded-answer.js';
import type { StreamTransform } from '../relaying/event-stream.js';

/** Describes how the gateway speaks with the providers of one `engine`. */
export interface ProviderAdapter {
  /** Returns the URL of an API. */
  url: (baseUrl: string, api: GatewayApi) => string;
  /** Returns the headers that hold the key. */
  authHeaders: (key: string) => Record<string, string>;
  /** The member of an answer that holds the usage. The names of its counts are in `src/tracing/usage/dialects.ts`. */
  usageMember: string;
  apis: Readonly<Record<GatewayApi, ProviderApi>>;
}

/** One API of a provider, for the record and for the client. */
export interface ProviderApi {
  /**
   * Returns the members that are added to a request so that the record is complete, as JSON texts keyed by name.
   * Members that the client sent are kept.
   */
  addedMembers: (request: ModelRequest) => Map<string, string>;
  /** Returns a reader that assembles a stream into the answer that a request without streaming gets. */
  newReader: () => StreamReader;
  /** Returns the transform of a stream for the client. */
  newTransform: (body: ModelRequest['body']) => StreamTransform;
}
