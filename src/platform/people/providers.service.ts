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
/** A discovery document is read again after this time, when what it says may have changed. */
const KNOWN_MS = 60 * 60 * 1000;
/** A provider that did not answer is not asked again for this time: those who sign in meanwhile are told at once. */
const RETRY_MS = 5000;
/** By how much clocks may differ. */
export const CLOCK_TOLERANCE_SECONDS = 30;

/** What a provider has told of itself. */
export interface DiscoveredProvider {
  metadata: client.ServerMetadata;
  /** Made anew for each sign-in, so that the provider's keys are read then: they may have been replaced. */
  configuration: () => client.Configuration;
  /** Its keys, as they are now: an unknown one makes them be read again. */
  keys: JWTVerifyGetKey;
}

interface State {
  discovered?: DiscoveredProvider;
  /** When that was. */
  at: number;
  /** The one under way. */
  discovering?: Promise<DiscoveredProvider> | undefined;
  failure?: { error: unknown; at: number } | undefined;
}

/**
 * The providers that people sign in with. Discovery is lazy, so that the service starts and ingests while a provider is
 * away, and is tried again each minute; the log and `/ready` say which one cannot be reached.
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
    if (!provider) throw new ApiError('not_found', `there is no sign-in ${number}`);
    return provider;
  }

  withIssuer(issuer: string | null): SignInProvider | undefined {
    return this.config.signInProviders.find((one) => one.issuer === issuer);
  }

  /** An address of the sign-in at the provider. */
  address({ number }: SignInProvider, path: 'sign-in' | 'callback'): string {
    return `${this.config.publicUrl}/auth/${number}/${path}`;
  }

  /** Which of the providers answered last time, by their issuers. */
  reachable(): Record<string, boolean | null> {
    return Object.fromEntries(
      this.config.signInProviders.map(({ issuer }) => {
        const { discovered, failure } = this.state(issuer);
        return [issuer, failure ? false : discovered ? true : null];
      }),
    );
  }

  /** What the provider says of itself. @throws whatever keeps it from being read */
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

  /** What is known stays known while a provider is away. */
  private async check(): Promise<void> {
    for (const provider of this.config.signInProviders) {
      const { discovered, at, failure } = this.state(provider.issuer);
      if (failure || !discovered || Date.now() - at > KNOWN_MS)
        await this.discover(provider).catch(() => {}); // the log has it
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
  if (!server.jwks_uri) throw new Error(`${issuer} says nothing of its keys (jwks_uri)`);
  const configuration = () => {
    const made = new client.Configuration({ ...server }, clientId, metadata, authentication);
    Object.assign(made, options);
    for (const each of execute) each(made);
    return made;
  };
  return { metadata: server, configuration, keys: keysAt(server.jwks_uri) };
}

/** By the header, as each provider must take it, unless it says that it takes the body alone. */
function secretIn(secret: string): client.ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}
