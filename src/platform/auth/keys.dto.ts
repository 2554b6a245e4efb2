import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsUUID,
  Max,
  Min,
} from 'class-validator';
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

const MAX_SCOPES_LENGTH = 8192;
const AreShort = () =>
  rule(
    'areShort',
    `must have at most ${MAX_SCOPES_LENGTH} characters together`,
    (scopes) => Array.isArray(scopes) && scopes.join('').length <= MAX_SCOPES_LENGTH,
  );

export class CreateKeyDto {
  /** Becomes `svc_user_id` of what is written with the key. */
  @IsText(256, { min: 1 }) user!: string;
  @IsIn(ROLES) role!: Role;
  /** At most 8,192 characters together. */
  @IsArray() @ArrayMinSize(1) @ArrayMaxSize(100) @IsScope() @AreShort() scopes!: string[];
  @IsOptional() @IsDateTime() expires_at?: string | null;
}

/** The most keys of one answer. */
export const KEYS_PAGE = 1000;

export class ListKeysDto {
  /** The id of the last key seen: the list goes on behind it. */
  @IsOptional() @IsUUID() after?: string | null;
  @IsOptional() @IsInt() @Min(1) @Max(KEYS_PAGE) limit?: number | null;
}

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
  /** Whether there are keys behind the last one: `after` asks for them. */
  has_more!: boolean;
}

export class CreatedKeyDto {
  id!: string;
  /** Shown this once. */
  secret!: string;
}
