import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, IsUUID, Max, Min } from 'class-validator';
import { isScope } from '../auth/grants.js';
import { IsText, PROJECT_PART_RULE, rule } from '../http/dto.js';
import { MEMBER_ROLES, type MemberRole } from '../roles.js';

/** Most members or people of one answer. */
export const PEOPLE_PAGE = 1000;
const MAX_SCOPE = 257;
/** Longest e-mail address by RFC 5321. */
const MAX_EMAIL = 320;

const IsScope = () =>
  rule(
    'isScope',
    `must be *, <entity>/* or <entity>/<project>; each name must ${PROJECT_PART_RULE}`,
    isScope,
  );

const IsEmail = () =>
  rule(
    'isEmail',
    'must be an e-mail address',
    (value) => typeof value === 'string' && /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u.test(value),
  );

export class PeoplePageDto {
  /** The id of the last item received. The list continues after it. */
  @IsOptional() @IsUUID() after?: string | null;
  @IsOptional() @IsInt() @Min(1) @Max(PEOPLE_PAGE) limit?: number | null;
}

export class ListMembersDto extends PeoplePageDto {
  /** Only members of this scope and of scopes within it. */
  @IsOptional() @IsText(MAX_SCOPE) @IsScope() scope?: string | null;
}

export class ListUsersDto extends PeoplePageDto {}

/** Exactly one of `user_id`, `email` and `group` must be given. */
export class SetMemberDto {
  @IsText(MAX_SCOPE) @IsScope() scope!: string;
  @IsIn(MEMBER_ROLES) role!: MemberRole;
  @IsOptional() @IsUUID() user_id?: string | null;
  /**
   * An address of a person who has signed in or will sign in. They get the role once the provider reports the address
   * as verified.
   */
  @IsOptional() @IsText(MAX_EMAIL) @IsEmail() email?: string | null;
  /** A group of the provider. */
  @IsOptional() @IsText(256, { min: 1 }) group?: string | null;
  /** The provider of the address or the group. Required when people may sign in with several providers. */
  @IsOptional() @IsText(2048) issuer?: string | null;
}

export class RemoveMemberDto {
  @IsUUID() id!: string;
}

export class UserIdDto {
  @IsUUID() id!: string;
}

/** A role of a person, of an e-mail address that nobody has signed in with, or of a group. */
export class MemberDto {
  id!: string;
  scope!: string;
  @ApiProperty({ enum: MEMBER_ROLES }) role!: MemberRole;
  user_id!: string | null;
  email!: string | null;
  group!: string | null;
  issuer!: string | null;
  /** The name of the person. */
  name!: string | null;
  last_seen!: string | null;
  active!: boolean | null;
}

export class MembersDto {
  members!: MemberDto[];
  /** True when more members follow. Send the last id as `after` to get them. */
  has_more!: boolean;
}

export class UserDto {
  id!: string;
  issuer!: string;
  subject!: string;
  email!: string | null;
  email_verified!: boolean;
  name!: string | null;
  /** Shown only to admins of everything, because group names may reveal other teams. */
  groups!: string[] | null;
  active!: boolean;
  first_seen!: string;
  last_seen!: string;
}

export class UsersDto {
  users!: UserDto[];
  /** True when more people follow. Send the last id as `after` to get them. */
  has_more!: boolean;
}
