import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const MEMBER_ROLES = ['reader', 'writer', 'admin'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** A role that a person, an e-mail address not seen yet, or a group of a provider has in a scope. */
@Entity('memberships')
@Index('memberships_subject_idx', ['kind', 'issuer', 'subject', 'scope'], { unique: true })
@Index('memberships_scope_idx', ['scope', 'id'])
@Check('memberships_kind_check', `kind IN ('user', 'email', 'group')`)
@Check('memberships_role_check', `role IN ('reader', 'writer', 'admin')`)
export class Membership {
  @PrimaryColumn('uuid') id!: string;
  /** `*`, `<entity>/*` or `<entity>/<project>`. */
  @Column({ type: 'text', collation: 'C' }) scope!: string;
  @Column({ type: 'text', collation: 'C' }) kind!: 'user' | 'email' | 'group';
  /** Of an e-mail address or a group; empty for a user, whose id says it. */
  @Column({ type: 'text', collation: 'C' }) issuer!: string;
  /** The id of the user, the e-mail address as `emailKey` writes it, or the name of the group. */
  @Column({ type: 'text', collation: 'C' }) subject!: string;
  @Column({ type: 'text', collation: 'C' }) role!: MemberRole;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
