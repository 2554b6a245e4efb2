import { Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

/** Says that turns of a thread have changed since its statistics were refreshed. Only ever inserted and deleted. For the migration check only. */
@Entity('thread_marks')
export class ThreadMark {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('text', { name: 'thread_id', collation: 'C' }) threadId!: string;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
}
