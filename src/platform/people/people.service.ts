import { Inject, Injectable } from '@nestjs/common';
import { And, LessThan, MoreThan } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { addEvent, auditAction } from '../audit/add-event.js';
import type { Caller } from '../auth/caller.js';
import { ConsoleSession } from '../auth/sessions/console-session.entity.js';
import { scopeCovers, emailKey } from '../auth/grants.js';
import { KeysService } from '../auth/keys/keys.service.js';
import { CONFIG, type Config } from '../config/config.js';
import { lock } from '../database/advisory-locks.js';
import { Database } from '../database/database.js';
import { ApiError, invalidRequest } from '../errors.js';
import { ownerEntity } from '../process/fair-queue.js';
import { Membership } from './membership.entity.js';
import {
  type ListMembersDto,
  type ListUsersDto,
  type MemberDto,
  type MembersDto,
  PEOPLE_PAGE,
  type SetMemberDto,
  type UserDto,
  type UsersDto,
} from './people.dto.js';
import { memberById, MEMBERS_OF_ENTITY, membersWithin, usersWithin } from './people.query.js';
import { User } from './user.entity.js';

const MEMBERS_SET = auditAction('members.set');
const MEMBERS_REMOVE = auditAction('members.remove');
const USERS_DEACTIVATE = auditAction('users.deactivate');
const USERS_ACTIVATE = auditAction('users.activate');

/** Most members of one scope, so that lists can show them all. A larger team uses a group. */
const MAX_MEMBERS = 1000;
/**
 * Most roles that an entity may give in all, and to one member. Each look-up of a person reads all their roles, so no
 * entity may slow down look-ups for others.
 */
const MAX_MEMBERS_OF_ENTITY = 10_000;
const MAX_ROLES_IN_ENTITY = 100;

type Subject = Pick<Membership, 'kind' | 'issuer' | 'subject'>;

/**
 * Manages roles. Callers are admins: they give and take roles in the scopes in which they are admins, and see nothing
 * else.
 */
@Injectable()
export class PeopleService {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysService,
    @Inject(CONFIG) private readonly config: Pick<Config, 'signInProviders'>,
  ) {}

  async listMembers(
    { scope, after, limit }: ListMembersDto,
    { scopes }: Caller,
  ): Promise<MembersDto> {
    const count = limit ?? PEOPLE_PAGE;
    const page = { after: after ?? null, limit: count + 1 };
    const members = await this.database.query(membersWithin(scopes, scope ?? null, page));
    return { members: members.slice(0, count), has_more: members.length > count };
  }

  async listUsers({ after, limit }: ListUsersDto, { scopes }: Caller): Promise<UsersDto> {
    const count = limit ?? PEOPLE_PAGE;
    const page = { after: after ?? null, limit: count + 1 };
    const users = await this.database.query(usersWithin(scopes, page));
    return { users: users.slice(0, count), has_more: users.length > count };
  }

  /** Gives a role in a scope. It replaces the previous role in that scope. */
  async set(request: SetMemberDto, caller: Caller): Promise<MemberDto> {
    const { scope, role } = request;
    if (!caller.scopes.some((own) => scopeCovers(own, scope)))
      throw new ApiError('forbidden', `you are not an admin of the scope ${scope}`);
    const member = await this.database.transaction(async () => {
      await this.database.query(lock(MEMBERS_OF_ENTITY, ownerEntity(scope)));
      const subject = await this.subject(request, caller);
      const members = this.database.repository(Membership);
      const before = await members.findOneBy({ ...subject, scope });
      if (!before) await this.assertRoom(scope, subject);
      const id = before?.id ?? uuidv7();
      await members.save({ ...subject, id, scope, role });
      const detail = { ...shownSubject(subject), role, was: before?.role ?? null };
      const event = { action: MEMBERS_SET, by: caller, target: id, scopes: [scope], detail };
      await addEvent(this.database, event);
      return (await this.database.query(memberById(id)))[0]!;
    });
    this.keys.forget();
    return member;
  }

  private async assertRoom(scope: string, subject: Subject): Promise<void> {
    const members = this.database.repository(Membership);
    const count = await members.countBy({ scope });
    if (count >= MAX_MEMBERS)
      throw new ApiError(
        'too_large',
        `scope: ${scope} has ${count} members, and may have ${MAX_MEMBERS}; give a role to a group`,
      );
    if (scope === '*') return;
    const entity = ownerEntity(scope);
    const within = { scope: And(MoreThan(`${entity}/`), LessThan(`${entity}0`)) }; // `0` follows `/` in ASCII
    const roles = await members.countBy({ ...subject, ...within });
    if (roles >= MAX_ROLES_IN_ENTITY)
      throw new ApiError(
        'too_large',
        `scope: they have ${roles} roles in ${entity}, and may have ${MAX_ROLES_IN_ENTITY}; give one in ${entity}/*`,
      );
    const all = await members.countBy(within);
    if (all >= MAX_MEMBERS_OF_ENTITY)
      throw new ApiError(
        'too_large',
        `scope: ${entity} has ${all} members, and may have ${MAX_MEMBERS_OF_ENTITY}; give roles to groups`,
      );
  }

  private async subject(request: SetMemberDto, caller: Caller): Promise<Subject> {
    const { user_id, email, group } = request;
    const given = [user_id, email, group].filter((value) => typeof value === 'string');
    if (given.length !== 1)
      throw invalidRequest([
        { path: 'user_id', message: 'must be given, or email, or group, and only one of them' },
      ]);
    if (user_id) {
      const page = { after: null, limit: 1, id: user_id };
      const [user] = await this.database.query(usersWithin(caller.scopes, page));
      if (!user) throw new ApiError('not_found', `there is no user ${user_id}`);
      return { kind: 'user', issuer: '', subject: user.id };
    }
    const issuer = this.issuer(request.issuer);
    if (group) return { kind: 'group', issuer, subject: group };
    return this.subjectWithEmail(issuer, emailKey(email!));
  }

  /**
   * Returns the person with this verified address, if they have signed in. The role then stays theirs, even when
   * somebody else gets the address later.
   */
  private async subjectWithEmail(issuer: string, email: string): Promise<Subject> {
    const users = await this.database
      .repository(User)
      .find({ where: { issuer, email, emailVerified: true }, order: { id: 'ASC' }, take: 2 });
    if (users.length > 1)
      throw new ApiError('conflict', `several people have the address ${email}: give the user_id`);
    return users[0]
      ? { kind: 'user', issuer: '', subject: users[0].id }
      : { kind: 'email', issuer, subject: email };
  }

  private issuer(asked: string | null | undefined): string {
    const issuers = this.config.signInProviders.map(({ issuer }) => issuer);
    if (asked && issuers.includes(asked)) return asked;
    if (!asked && issuers.length === 1) return issuers[0]!;
    const message =
      issuers.length === 0
        ? 'is unknown: no sign-in provider is set (OIDC_ISSUER)'
        : `must be one of ${issuers.join(', ')}`;
    throw invalidRequest([{ path: 'issuer', message }]);
  }

  /** Removes a role. It stops applying within 5 s. */
  async remove(id: string, caller: Caller): Promise<MemberDto> {
    const removed = await this.database.transaction(async () => {
      const [member] = await this.database.query(memberById(id));
      if (!member || !caller.scopes.some((own) => scopeCovers(own, member.scope)))
        throw new ApiError('not_found', `there is no member ${id}`);
      const { affected } = await this.database.repository(Membership).delete({ id });
      if (!affected) throw new ApiError('not_found', `there is no member ${id}`);
      const { user_id, email, group, role, scope } = member;
      const detail = { user_id, email: user_id === null ? email : null, group, role };
      const event = { action: MEMBERS_REMOVE, by: caller, target: id, scopes: [scope], detail };
      await addEvent(this.database, event);
      return member;
    });
    this.keys.forget();
    return removed;
  }

  /**
   * Deactivates or activates a person. Only admins of everything may, because others would learn that the person has
   * roles elsewhere.
   */
  async setActive(id: string, isActive: boolean, caller: Caller): Promise<UserDto> {
    if (!caller.scopes.includes('*'))
      throw new ApiError('forbidden', 'the operation needs an admin of the scope *');
    if (!isActive && id === caller.userId)
      throw new ApiError('conflict', 'you cannot deactivate yourself');
    const change = async () => {
      const users = this.database.repository(User);
      const { affected } = await users.update({ id, isActive: !isActive }, { isActive });
      if (!isActive) await this.database.repository(ConsoleSession).delete({ userId: id });
      const page = { after: null, limit: 1, id };
      const [user] = await this.database.query(usersWithin(['*'], page));
      if (!user) throw new ApiError('not_found', `there is no user ${id}`);
      const action = isActive ? USERS_ACTIVATE : USERS_DEACTIVATE;
      if (affected)
        await addEvent(this.database, { action, by: caller, target: id, scopes: ['*'] });
      return user;
    };
    const user = await this.database.transaction({ isUrgent: true }, change);
    this.keys.forget();
    return user;
  }
}

const shownSubject = ({ kind, issuer, subject }: Subject) =>
  kind === 'user' ? { user_id: subject } : { [kind]: subject, issuer };
