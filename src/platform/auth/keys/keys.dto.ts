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
import { IsDateTime, IsText, PROJECT_PART_RULE, rule } from '../../http/dto.js';
import { type Role, ROLES } from '../../roles.js';
import { isScope } from '../grants.js';

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
  /**
   * Stored as `svc_user_id` of the data written with the key. Without it, the key becomes a personal key of the caller.
   */
  @IsOptional() @IsText(256, { min: 1 }) user?: string | null;
  @IsIn(ROLES) role!: Role;
  /** At most 8,192 characters together. */
  @IsArray() @ArrayMinSize(1) @ArrayMaxSize(100) @IsScope() @AreShort() scopes!: string[];
  /** A personal key always expires: after 90 days unless this names another time. */
  @IsOptional() @IsDateTime() expires_at?: string | null;
}

export const KEYS_PAGE = 1000;

export class ListKeysDto {
  /** The id of the last key received. The list continues after it. */
  @IsOptional() @IsUUID() after?: string | null;
  @IsOptional() @IsInt() @Min(1) @Max(KEYS_PAGE) limit?: number | null;
  /** True lists all personal keys of the caller that are still valid, in one answer. */
  @IsOptional() @IsBoolean() own?: boolean | null;
}

export class RevokeKeyDto {
  @IsUUID() id!: string;
}

/** A key without its secret and hash. */
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
  /** The person who owns the key, which may do only what the person and the key both may. Null for a service key. */
  user_id!: string | null;
  /** Name of the key's creator. Null for keys made before it was recorded. */
  created_by!: string | null;
}

export class PersonDto {
  id!: string;
  issuer!: string;
  email!: string | null;
  name!: string | null;
  /** The groups that the provider reported last. */
  groups!: string[];
}

/** A role in scopes. When several scopes reach a project, the highest of their roles counts. */
export class GrantDto {
  @ApiProperty({ enum: ROLES }) role!: Role;
  scopes!: string[];
}

/** The caller: a key, a person, or a key of a person. */
export class MeDto {
  /** The id of the key. A person in a session has their own id. */
  id!: string;
  user!: string;
  /** The highest role that the caller has in any scope. */
  role!: Role;
  /** All scopes of the caller. */
  scopes!: string[];
  expires_at!: string | null;
  /** Type of the credential. */
  @ApiProperty({ enum: ['key', 'session', 'personal key', 'token'] })
  by!: 'key' | 'session' | 'personal key' | 'token';
  /** Null for a service key and for a token. */
  @ApiProperty({ type: PersonDto, nullable: true }) person!: PersonDto | null;
  /**
   * The roles of the caller, with the scopes of each. A personal key has the grants that the person and the key have in
   * common.
   */
  @ApiProperty({ type: [GrantDto] }) grants!: GrantDto[];
}

export class KeysDto {
  keys!: KeyDto[];
  /** True when more keys follow. Send the last id as `after` to get them. */
  has_more!: boolean;
}

export class CreatedKeyDto {
  id!: string;
  /** Shown only in this answer. */
  secret!: string;
}
