import { Inject, Injectable } from '@nestjs/common';
import * as client from 'openid-client';
import { ConsoleSession } from '../auth/sessions/console-session.entity.js';
import { KeysService } from '../auth/keys/keys.service.js';
import { seal, unseal } from '../auth/seal.js';
import { Database } from '../database/database.js';
import { Schedule } from '../database/schedule.js';
import { listCauses } from '../http/external-fetch.js';
import { sessionsToCheck } from './people.query.js';
import { logger } from '../process/logger.js';
import { ProvidersService } from './providers.service.js';
import { readClaims, SignInService } from './sign-in.service.js';

/** Age at which the groups of a signed-in person are read from the provider again. */
const AGE_SECONDS = 15 * 60;
const EVERY_MS = 15_000;
const AT_ONCE = 20;

/**
 * Reads the groups of signed-in people again, when the provider issued a refresh token. If the provider rejects the
 * token, the person has lost access and the session ends. If it does not answer, it is tried again after the same time.
 */
@Injectable()
export class GroupsRefresher {
  @Inject() private readonly keys!: KeysService;

  constructor(
    private readonly database: Database,
    private readonly providers: ProvidersService,
    private readonly signIns: SignInService,
    schedule: Schedule,
  ) {
    schedule.every(EVERY_MS, 'groups of people', () => this.refresh());
  }

  private async refresh(): Promise<void> {
    for (;;) {
      const sessions = await this.database.query(sessionsToCheck(AGE_SECONDS, AT_ONCE));
      await Promise.all(sessions.map((session) => this.refreshOne(session)));
      if (sessions.length < AT_ONCE) return;
    }
  }

  private async refreshOne(session: Session): Promise<void> {
    const { token_hash: tokenHash, issuer, subject } = session;
    const provider = this.providers.withIssuer(issuer);
    const secret = provider?.clientSecret;
    if (!provider || secret === undefined) return;
    const sessions = this.database.repository(ConsoleSession);
    try {
      const configuration = (await this.providers.discovered(provider)).configuration();
      const refreshToken = unseal(session.refresh_token, secret);
      const tokens = await client.refreshTokenGrant(configuration, refreshToken);
      const claims = tokens.claims() ?? { sub: subject };
      if (claims.sub !== subject) throw new Error('the provider answered for another person');
      const next = tokens.refresh_token;
      if (next) await sessions.update({ tokenHash }, { refreshToken: seal(next, secret) });
      const known = { access_token: tokens.access_token, claims: () => claims as never };
      await this.signIns.seen(await readClaims(provider, configuration, known));
    } catch (error) {
      logger.warn({ causes: listCauses(error), issuer }, 'the groups of a person were not read');
      if (!(error instanceof client.ResponseBodyError && error.error === 'invalid_grant')) return;
      await sessions.delete({ tokenHash });
      this.keys.forget();
    }
  }
}

interface Session {
  token_hash: Buffer;
  issuer: string;
  subject: string;
  refresh_token: string;
}
