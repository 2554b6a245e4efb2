import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  IsUUID,
  Max,
  Min,
} from 'class-validator';
import { ApiProperty } from '@nestjs/swagger';
import { IsDateTime, IsText, PROJECT_PART_RULE, rule } from '../http/dto.js';
import { type Role, ROLES } from './api-key.entity.js';
import { isScope } from './grants.js';

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
  /** Becomes `svc_user_id` of what is written with the key. Without it, the key is the caller's own: that of a person. */
  @IsOptional() @IsText(256, { min: 1 }) user?: string | null;
  @IsIn(ROLES) role!: Role;
  /** At most 8,192 characters together. */
  @IsArray() @ArrayMinSize(1) @ArrayMaxSize(100) @IsScope() @AreShort() scopes!: string[];
  /** A key of a person ends in any case: after 90 days, unless this says another time. */
  @IsOptional() @IsDateTime() expires_at?: string | null;
}

/** The most keys of one answer. */
export const KEYS_PAGE = 1000;

export class ListKeysDto {
  /** The id of the last key seen: the list goes on behind it. */
  @IsOptional() @IsUUID() after?: string | null;
  @IsOptional() @IsInt() @Min(1) @Max(KEYS_PAGE) limit?: number | null;
  /** True for the caller's own keys that have not ended, all at once: those of a person. */
  @IsOptional() @IsBoolean() own?: boolean | null;
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
  /** The person whose key it is: it can do what both may. Null for a key of a service. */
  user_id!: string | null;
  /** Who made it; null when that was not kept yet. */
  created_by!: string | null;
}

export class PersonDto {
  id!: string;
  issuer!: string;
  email!: string | null;
  name!: string | null;
  /** As the provider last told. */
  groups!: string[];
}

/** A role in scopes. In a project the highest counts whose scopes reach it. */
export class GrantDto {
  @ApiProperty({ enum: ROLES }) role!: Role;
  scopes!: string[];
}

/** The caller: a key, a person, or both. */
export class MeDto {
  /** Of the key; of a person in a session, their own. */
  id!: string;
  user!: string;
  /** The highest role that the caller has in any scope. */
  role!: Role;
  /** All that it reaches. */
  scopes!: string[];
  expires_at!: string | null;
  /** What the caller came by. */
  @ApiProperty({ enum: ['key', 'session', 'personal key', 'token'] })
  by!: 'key' | 'session' | 'personal key' | 'token';
  /** Null for a key of a service, and for a token. */
  @ApiProperty({ type: PersonDto, nullable: true }) person!: PersonDto | null;
  /** What the caller may do where: of a key of a person, what both may. */
  @ApiProperty({ type: [GrantDto] }) grants!: GrantDto[];
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
