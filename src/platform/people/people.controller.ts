import { Body } from '@nestjs/common';
import { BasicAuth, NoProjectField, Operation, Resource } from '../auth/access-decorators.js';
import { Idempotent, projectOfScopes } from '../auth/idempotency/idempotency.js';
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

/** Manages the roles of people. Admins see and change only the scopes in which they are admins. */
@NoProjectField('a member has a scope, which is held against those of the caller')
@Resource('people', BasicAuth())
export class PeopleController {
  constructor(private readonly people: PeopleService) {}

  /** Lists the members of the scopes of an admin: people, e-mail addresses and groups, up to 1,000 per answer. */
  @Operation('members/list', 'admin')
  listMembers(@Body() body: ListMembersDto, @Ctx() { caller }: Context): Promise<MembersDto> {
    return this.people.listMembers(body, caller);
  }

  /**
   * Gives a role in a scope to a person, an e-mail address or a group. It replaces their previous role in that scope.
   */
  @Operation('members/set', 'admin')
  @Idempotent({ project: ({ scope }: SetMemberDto) => projectOfScopes(scope) })
  setMember(@Body() body: SetMemberDto, @Ctx() { caller }: Context): Promise<MemberDto> {
    return this.people.set(body, caller);
  }

  /** Removes a role. It stops applying everywhere within 5 s. */
  @Operation('members/remove', 'admin')
  @Idempotent()
  removeMember(@Body() { id }: RemoveMemberDto, @Ctx() { caller }: Context): Promise<MemberDto> {
    return this.people.remove(id, caller);
  }

  /**
   * Lists the people who have a role in the scopes of an admin, up to 1,000 per answer. An admin of everything sees all
   * people.
   */
  @Operation('users/list', 'admin')
  listUsers(@Body() body: ListUsersDto, @Ctx() { caller }: Context): Promise<UsersDto> {
    return this.people.listUsers(body, caller);
  }

  /** Locks a person out within 5 s: their sessions, personal keys and running requests end. */
  @Operation('users/deactivate', 'admin')
  @Idempotent()
  deactivate(@Body() { id }: UserIdDto, @Ctx() { caller }: Context): Promise<UserDto> {
    return this.people.setActive(id, false, caller);
  }

  /** Lets a person in again, with the same roles as before. */
  @Operation('users/activate', 'admin')
  @Idempotent()
  activate(@Body() { id }: UserIdDto, @Ctx() { caller }: Context): Promise<UserDto> {
    return this.people.setActive(id, true, caller);
  }
}
