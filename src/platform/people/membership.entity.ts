import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { MemberRole } from '../roles.js';

/** A role in a scope, of a person, of an e-mail address that has not signed in yet, or of a provider's group. */
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
  /** The provider of an e-mail address or a group. Empty for a user, whose id identifies them. */
  @Column({ type: 'text', collation: 'C' }) issuer!: string;
  /** The id of the user, the e-mail address in the form of `emailKey`, or the name of the group. */
  @Column({ type: 'text', collation: 'C' }) subject!: string;
  @Column({ type: 'text', collation: 'C' }) role!: MemberRole;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
