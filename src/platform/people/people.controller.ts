import { Body } from '@nestjs/common';
import { BasicAuth, NoProjectField, Operation, Resource } from '../auth/access-decorators.js';
import { Idempotent } from '../auth/idempotency.js';
import { Context, Ctx } from '../http/context.js';
import {
  ListMembersDto,
  ListUsersDto,
  MemberDto,
  MembersDto,
  RemoveMemberDto,
  SetMemberDto,
  UserDto,
  UserIdDto,
  UsersDto,
} from './people.dto.js';
import { PeopleService } from './people.service.js';

/** Who has which role where, for admins, as far as they are. */
@NoProjectField('a member has a scope, which is held against those of the caller')
@Resource('people', BasicAuth())
export class PeopleController {
  constructor(private readonly people: PeopleService) {}

  /** Lists who has a role in the scopes of an admin: people, e-mail addresses and groups, 1,000 at a time. */
  @Operation('members/list', 'admin')
  listMembers(@Body() body: ListMembersDto, @Ctx() { caller }: Context): Promise<MembersDto> {
    return this.people.listMembers(body, caller);
  }

  /** Gives a role in a scope to a person, an e-mail address or a group, in the place of the one that it has there. */
  @Operation('members/set', 'admin')
  @Idempotent()
  setMember(@Body() body: SetMemberDto, @Ctx() { caller }: Context): Promise<MemberDto> {
    return this.people.set(body, caller);
  }

  /** Takes a role away. It counts no more anywhere within 5 s. */
  @Operation('members/remove', 'admin')
  @Idempotent()
  removeMember(@Body() { id }: RemoveMemberDto, @Ctx() { caller }: Context): Promise<MemberDto> {
    return this.people.remove(id, caller);
  }

  /** Lists the people who have a role in the scopes of an admin, 1,000 at a time; all of them to an admin of everything. */
  @Operation('users/list', 'admin')
  listUsers(@Body() body: ListUsersDto, @Ctx() { caller }: Context): Promise<UsersDto> {
    return this.people.listUsers(body, caller);
  }

  /** Closes every door to a person within 5 s: sessions, keys of theirs, and requests under way. */
  @Operation('users/deactivate', 'admin')
  @Idempotent()
  deactivate(@Body() { id }: UserIdDto, @Ctx() { caller }: Context): Promise<UserDto> {
    return this.people.setActive(id, false, caller);
  }

  /** Lets a person in again, who can do what they could before. */
  @Operation('users/activate', 'admin')
  @Idempotent()
  activate(@Body() { id }: UserIdDto, @Ctx() { caller }: Context): Promise<UserDto> {
    return this.people.setActive(id, true, caller);
  }
}
