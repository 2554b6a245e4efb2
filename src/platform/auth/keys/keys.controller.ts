import { Body, Inject, type StreamableFile } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { CONFIG, type Config } from '../../config/config.js';
import { parseDate } from '../../http/dto.js';
import { ApiError, invalidRequest } from '../../errors.js';
import { BasicAuth, NoProjectField, Operation, Resource } from '../access-decorators.js';
import type { ApiKey } from './api-key.entity.js';
import type { Caller } from '../caller.js';
import { scopeCovers } from '../grants.js';
import { Idempotent, projectOfScopes } from '../idempotency/idempotency.js';
import { Context, Ctx } from '../../http/context.js';
import { jsonArray } from '../../http/json-rows.js';
import {
  CreatedKeyDto,
  CreateKeyDto,
  type KeyDto,
  KEYS_PAGE,
  KeysDto,
  ListKeysDto,
  RevokeKeyDto,
} from './keys.dto.js';
import { KeysService } from './keys.service.js';

const DAY_MS = 86_400_000;
/** Lifetime of a person's key unless the request names another one. */
const PERSONAL_KEY_DAYS = 90;

/**
 * Admins issue, list and revoke keys. Such a key has no wider scopes and no later expiry than the admin's own. People
 * do the same with their personal keys, whatever their role.
 */
@NoProjectField('a key has scopes, which are held against those of the caller')
@Resource('keys', BasicAuth(), 'keys')
export class KeysController {
  constructor(
    private readonly keys: KeysService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Issues a key. With `user` an admin issues a service key; without it a person issues a personal key. Only this
   * answer contains the secret.
   */
  @Operation('create', 'reader')
  @Idempotent({ isSecret: true, project: ({ scopes }: CreateKeyDto) => projectOfScopes(scopes) })
  create(@Body() body: CreateKeyDto, @Ctx() { caller }: Context): Promise<CreatedKeyDto> {
    const { user, role, scopes } = body;
    const isOwn = user === undefined || user === null;
    if (isOwn && caller.userId === null)
      throw invalidRequest([
        {
          path: 'user',
          message: 'must be given: only a person who has signed in has keys of their own',
        },
      ]);
    const maker = isOwn ? caller : admin(caller);
    const expiresAt = this.expiry(body, isOwn, caller);
    const acting = isOwn ? maker.as(role) : maker;
    if (!acting)
      throw new ApiError('forbidden', `you do not have the role ${role}, so your keys cannot`);
    const outside = scopes.find((scope) => !isWithin(acting, scope));
    if (outside !== undefined)
      throw new ApiError('forbidden', `the scope ${outside} is outside the key's own scopes`);
    return this.keys.create(
      {
        userName: isOwn ? caller.userName : user,
        role,
        scopes,
        expiresAt,
        userId: isOwn ? caller.userId : null,
      },
      caller,
    );
  }

  /** @throws ApiError when the key would last longer than it may. */
  private expiry({ expires_at }: CreateKeyDto, isOwn: boolean, caller: Caller): Date | null {
    const most = this.config.personalKeyDays;
    const days = Math.min(PERSONAL_KEY_DAYS, most);
    const byDefault = isOwn
      ? Math.min(Date.now() + days * DAY_MS, caller.expiresAt?.getTime() ?? Infinity)
      : null;
    const asked = expires_at ? parseDate(expires_at) : null;
    const expiresAt = asked ?? (byDefault === null ? null : new Date(byDefault));
    if (isOwn && expiresAt!.getTime() > Date.now() + most * DAY_MS)
      throw new ApiError(
        'forbidden',
        `expires_at must not be later than in ${most} days, which is PERSONAL_KEY_DAYS`,
      );
    if (caller.expiresAt && !(expiresAt && expiresAt <= caller.expiresAt))
      throw new ApiError(
        'forbidden',
        `expires_at must not be later than ${caller.expiresAt.toISOString()}, when the key itself expires`,
      );
    return expiresAt;
  }

  /**
   * Lists the keys whose scopes are all within those of an admin, oldest first, up to 1,000 per answer. With `own` it
   * lists the caller's personal keys.
   */
  @Operation('list', 'reader')
  @ApiOkResponse({ type: KeysDto })
  async list(
    @Body() { after, limit, own }: ListKeysDto,
    @Ctx() context: Context,
  ): Promise<StreamableFile | KeysDto> {
    const { caller } = context;
    if (own) {
      const own = caller.userId === null ? [] : await this.keys.personal(caller.userId);
      return { keys: own.filter((key) => isShownAsOwn(caller, key)), has_more: false };
    }
    const { scopes } = admin(caller);
    const { keys, hasMore } = await this.keys.within(scopes, after ?? null, limit ?? KEYS_PAGE);
    return jsonArray(keys, context, 'keys', () => `"has_more":${hasMore()}`);
  }

  /** Revokes a key that an admin may see, or a personal key of the caller. It stops working everywhere within 5 s. */
  @Operation('revoke', 'reader')
  @Idempotent()
  async revoke(@Body() { id }: RevokeKeyDto, @Ctx() { caller }: Context): Promise<KeyDto> {
    const key = await this.keys.find(id);
    const isOwn =
      key && key.userId !== null && key.userId === caller.userId && isShownAsOwn(caller, key);
    const acting = isOwn ? caller : admin(caller);
    if (!key || !(isOwn || isVisible(acting, key))) keyNotFound(id);
    await this.keys.revoke(id, caller);
    return (await this.keys.shown(id)) ?? keyNotFound(id);
  }
}

/**
 * Returns the caller reduced to its admin grants.
 * @throws ApiError `forbidden` when it has none.
 */
function admin(caller: Caller): Caller {
  const acting = caller.as('admin');
  if (!acting) throw new ApiError('forbidden', 'the operation needs a key with the role admin');
  return acting;
}

const isWithin = (caller: Caller, scope: string) =>
  caller.scopes.some((own) => scopeCovers(own, scope));

/**
 * Returns true when the caller may see a personal key. A session sees all keys of its person. A personal key, which
 * somebody else may hold, sees only itself and keys that reach no further.
 */
const isShownAsOwn = (caller: Caller, key: Pick<ApiKey, 'id' | 'scopes'>) =>
  caller.keyId === caller.userId || caller.keyId === key.id || isVisible(caller, key);

const isVisible = (caller: Caller, key: Pick<ApiKey, 'scopes'>) =>
  key.scopes.every((scope) => isWithin(caller, scope));

function keyNotFound(id: string): never {
  throw new ApiError('not_found', `there is no key ${id}`);
}
