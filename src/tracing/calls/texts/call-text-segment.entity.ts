import { Column, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { ProjectTable } from '../../../platform/database/project-table.js';

/** Some calls whose texts are indexed together. A call may be in several segments, also with what it said before. */
@ProjectTable('call_text_segments', { rows: 'derived' })
export class CallTextSegment {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  segment!: string;
  @Column('int') calls!: number;
  /** Length of all parts. */
  @Column('int') bytes!: number;
  /** The parts are ranges of grams with the same first bits. 0 if the calls are too large to be cut into grams. */
  @Column('smallint') bits!: number;
  /** The first and the last start of the calls. */
  @Column('timestamptz', { name: 'first_at' }) firstAt!: Date;
  @Column('timestamptz', { name: 'last_at' }) lastAt!: Date;
}

/** A part of a segment. It says which calls have which grams: `text-segment.ts`. */
@ProjectTable('call_text_parts', { rows: 'derived' })
export class CallTextPart {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('bigint') segment!: string;
  @PrimaryColumn('int') part!: number;
  @Column('bytea') bytes!: Buffer;
}

/** The ids of the calls of a segment, in the order of their numbers, `IDS_OF_ROW` in a row. */
@ProjectTable('call_text_ids', { rows: 'derived' })
export class CallTextIds {
  @PrimaryColumn('text', { name: 'project_id', collation: 'C' }) projectId!: string;
  @PrimaryColumn('bigint') segment!: string;
  @PrimaryColumn('int') row!: number;
  @Column('json') ids!: string[];
  /** Times between which these calls started. */
  @Column('timestamptz', { name: 'first_at' }) firstAt!: Date;
  @Column('timestamptz', { name: 'last_at' }) lastAt!: Date;
}
