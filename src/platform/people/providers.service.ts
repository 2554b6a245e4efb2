import { Inject, Injectable } from '@nestjs/common';
import type { JWTVerifyGetKey } from 'jose';
import * as client from 'openid-client';
import { keysAt } from '../auth/workload-tokens.js';
import { CONFIG, type Config } from '../config/config.js';
import type { SignInProvider } from '../config/sign-in-settings.js';
import { Schedule } from '../database/schedule.js';
import { ApiError } from '../errors.js';
import { logger } from '../process/logger.js';
import { fetchExternal, listCauses, EXTERNAL_SECONDS } from '../http/external-fetch.js';

const CHECK_EVERY_MS = 60_000;
/** Age at which a discovery document is read again, since its content may have changed. */
const KNOWN_MS = 60 * 60 * 1000;
/** Time before a provider that did not answer is requested again. Sign-ins in this time fail at once. */
const RETRY_MS = 5000;
/** Largest accepted difference between clocks. */
export const CLOCK_TOLERANCE_SECONDS = 30;

export interface DiscoveredProvider {
  metadata: client.ServerMetadata;
  /**
   * Returns a new configuration for each sign-in, so that the provider's keys are read then: they may have been
   * replaced.
   */
  configuration: () => client.Configuration;
  /** The provider's current keys. An unknown key id reads them again. */
  keys: JWTVerifyGetKey;
}

interface State {
  discovered?: DiscoveredProvider;
  /** Time of the last discovery. */
  at: number;
  discovering?: Promise<DiscoveredProvider> | undefined;
  failure?: { error: unknown; at: number } | undefined;
}

/**
 * The providers that people sign in with. Discovery is lazy, so that the service starts and stores calls while a
 * provider cannot be reached. It is retried each minute; the log and `/ready` report unreachable providers.
 */
@Injectable()
export class ProvidersService {
  private readonly states = new Map<string, State>();

  constructor(
    @Inject(CONFIG) private readonly config: Pick<Config, 'signInProviders' | 'publicUrl'>,
    schedule: Schedule,
  ) {
    schedule.every(CHECK_EVERY_MS, 'sign-in providers', () => this.check());
  }

  /** @throws ApiError `not_found` */
  provider(number: string): SignInProvider {
    const provider = this.config.signInProviders.find((one) => one.number === number);
    if (!provider) throw new ApiError('not_found', `there is no sign-in provider ${number}`);
    return provider;
  }

  withIssuer(issuer: string | null): SignInProvider | undefined {
    return this.config.signInProviders.find((one) => one.issuer === issuer);
  }

  /** Returns a URL of this service for the sign-in with a provider. */
  address({ number }: SignInProvider, path: 'sign-in' | 'callback'): string {
    return `${this.config.publicUrl}/auth/${number}/${path}`;
  }

  /** Returns, by issuer, whether each provider answered last time. Null for a provider that was not tried yet. */
  reachable(): Record<string, boolean | null> {
    return Object.fromEntries(
      this.config.signInProviders.map(({ issuer }) => {
        const { discovered, failure } = this.state(issuer);
        return [issuer, failure ? false : discovered ? true : null];
      }),
    );
  }

  /**
   * Returns the discovered data of a provider.
   * @throws the error that prevents discovery
   */
  async discovered(provider: SignInProvider): Promise<DiscoveredProvider> {
    const state = this.state(provider.issuer);
    if (state.discovered) return state.discovered;
    if (state.failure && Date.now() - state.failure.at < RETRY_MS) throw state.failure.error;
    return this.discover(provider);
  }

  private discover(provider: SignInProvider): Promise<DiscoveredProvider> {
    const state = this.state(provider.issuer);
    state.discovering ??= discover(provider)
      .then((discovered) => {
        if (state.failure) logger.info({ issuer: provider.issuer }, 'people can sign in again');
        Object.assign(state, { discovered, at: Date.now(), failure: undefined });
        return discovered;
      })
      .catch((error: unknown) => {
        if (!state.failure)
          logger.warn(
            { causes: listCauses(error), issuer: provider.issuer },
            'people cannot sign in',
          );
        state.failure = { error, at: Date.now() };
        throw error;
      })
      .finally(() => {
        state.discovering = undefined;
      });
    return state.discovering;
  }

  /** Keeps discovered data while a provider cannot be reached. */
  private async check(): Promise<void> {
    for (const provider of this.config.signInProviders) {
      const { discovered, at, failure } = this.state(provider.issuer);
      if (failure || !discovered || Date.now() - at > KNOWN_MS)
        await this.discover(provider).catch(() => {}); // `discover` has logged it
    }
  }

  private state(issuer: string): State {
    let state = this.states.get(issuer);
    if (!state) this.states.set(issuer, (state = { at: 0 }));
    return state;
  }
}

async function discover({
  issuer,
  clientId,
  clientSecret,
}: SignInProvider): Promise<DiscoveredProvider> {
  const authentication = clientSecret === undefined ? client.None() : secretIn(clientSecret);
  const metadata = { [client.clockTolerance]: CLOCK_TOLERANCE_SECONDS };
  const execute = [client.enableNonRepudiationChecks];
  if (issuer.startsWith('http:')) execute.push(client.allowInsecureRequests);
  const options = { timeout: EXTERNAL_SECONDS, [client.customFetch]: fetchExternal as never };
  const found = await client.discovery(new URL(issuer), clientId, metadata, authentication, {
    ...options,
    execute,
  });
  const server = found.serverMetadata();
  if (!server.jwks_uri)
    throw new Error(`${issuer} does not publish the address of its keys (jwks_uri)`);
  const configuration = () => {
    const made = new client.Configuration({ ...server }, clientId, metadata, authentication);
    Object.assign(made, options);
    for (const each of execute) each(made);
    return made;
  };
  return { metadata: server, configuration, keys: keysAt(server.jwks_uri) };
}

/**
 * Sends the secret in the header, which each provider must accept. The body is used only when the provider lists no
 * other method.
 */
function secretIn(secret: string): client.ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}
