import { ArrayMaxSize, ArrayMinSize, IsArray, IsIn, IsOptional, IsUUID } from 'class-validator';
import { IsDateTime, IsText, PROJECT_PART_RULE, rule } from '../http/dto.js';
import { type Role, ROLES } from './api-key.entity.js';
import { isScope } from './caller.js';

const IsScope = () =>
  rule(
    'isScope',
    `must be *, <entity>/* or <entity>/<project>; each name must ${PROJECT_PART_RULE}`,
    isScope,
    true,
  );

export class CreateKeyDto {
  /** Becomes `svc_user_id` of what is written with the key. */
  @IsText(256, { min: 1 }) user!: string;
  @IsIn(ROLES) role!: Role;
  @IsArray() @ArrayMinSize(1) @ArrayMaxSize(100) @IsScope() scopes!: string[];
  @IsOptional() @IsDateTime() expires_at?: string | null;
}

export class ListKeysDto {}

export class RevokeKeyDto {
  @IsUUID() id!: string;
}

/** A key as it may be shown: without secret and hash. */
export class KeyDto {
  id!: string;
  user!: string;
  role!: Role;
  scopes!: string[];
  /** First characters of the secret. */
  hint!: string;
  created_at!: string;
  expires_at!: string | null;
  revoked_at!: string | null;
}

/** The key of a request. */
export class MeDto {
  id!: string;
  user!: string;
  role!: Role;
  scopes!: string[];
  expires_at!: string | null;
}

export class KeysDto {
  keys!: KeyDto[];
}

export class CreatedKeyDto {
  id!: string;
  /** Shown this once. */
  secret!: string;
}
