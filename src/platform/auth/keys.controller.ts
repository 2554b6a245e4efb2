import { Body } from '@nestjs/common';
import { dateOf } from '../http/dto.js';
import { ApiError } from '../errors.js';
import { BasicAuth, NoProjectField, Operation, Resource } from './access.js';
import type { ApiKey } from './api-key.entity.js';
import { Caller, covers } from './caller.js';
import { Idempotent } from './idempotency.js';
import { Context, Ctx } from '../http/context.js';
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

/** Admins issue, list and revoke keys, none of which reaches further or lasts longer than their own. */
@NoProjectField('a key has scopes, which are held against those of the caller')
@Resource('keys', BasicAuth(), 'keys')
export class KeysController {
  constructor(private readonly keys: KeysService) {}

  /** Issues a key. The secret is in this answer and nowhere else. */
  @Operation('create', 'admin')
  @Idempotent({ isSecret: true })
  create(@Body() body: CreateKeyDto, @Ctx() { caller }: Context): Promise<CreatedKeyDto> {
    const expiresAt = body.expires_at ? dateOf(body.expires_at) : null;
    if (caller.expiresAt && !(expiresAt && expiresAt <= caller.expiresAt))
      throw new ApiError(
        'forbidden',
        `expires_at must not be later than ${caller.expiresAt.toISOString()}, when the key itself expires`,
      );
    const outside = body.scopes.find((scope) => !isWithin(caller, scope));
    if (outside !== undefined)
      throw new ApiError('forbidden', `the scope ${outside} is outside the key's own scopes`);
    return this.keys.create(
      { userName: body.user, role: body.role, scopes: body.scopes, expiresAt },
      caller,
    );
  }

  /** Lists the keys whose scopes are all within the caller's own, the oldest first, 1,000 at a time. */
  @Operation('list', 'admin')
  async list(@Body() { after, limit }: ListKeysDto, @Ctx() { caller }: Context): Promise<KeysDto> {
    const count = limit ?? KEYS_PAGE;
    const keys = await this.keys.within(caller.scopes, after ?? null, count + 1);
    return { keys: keys.slice(0, count).map(shown), has_more: keys.length > count };
  }

  /** Revokes a key. It stops working everywhere within 5 s. */
  @Operation('revoke', 'admin')
  @Idempotent()
  async revoke(@Body() { id }: RevokeKeyDto, @Ctx() { caller }: Context): Promise<KeyDto> {
    const key = await this.keys.find(id);
    if (!key || !isVisible(caller, key)) throw new ApiError('not_found', `there is no key ${id}`);
    await this.keys.revoke(id, caller);
    return shown((await this.keys.find(id)) ?? key);
  }
}

const isWithin = (caller: Caller, scope: string) => caller.scopes.some((own) => covers(own, scope));

const isVisible = (caller: Caller, key: ApiKey) =>
  key.scopes.every((scope) => isWithin(caller, scope));

const shown = (key: ApiKey): KeyDto => ({
  id: key.id,
  user: key.userName,
  role: key.role,
  scopes: key.scopes,
  hint: key.hint,
  created_at: key.createdAt.toISOString(),
  expires_at: key.expiresAt?.toISOString() ?? null,
  revoked_at: key.revokedAt?.toISOString() ?? null,
});
