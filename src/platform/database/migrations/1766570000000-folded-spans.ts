import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Spans that are not stored, and what is above them (docs/adr/0139-coding-agents.md). */
export class FoldedSpans1766570000000 implements MigrationInterface {
  name = 'FoldedSpans1766570000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE folded_spans (
        project_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        parent_id text COLLATE "C",
        folded_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT folded_spans_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query('CREATE INDEX folded_spans_folded_idx ON folded_spans (folded_at)');
    await runner.query('ALTER TABLE folded_spans ALTER COLUMN project_id SET STATISTICS 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE folded_spans');
  }
}
