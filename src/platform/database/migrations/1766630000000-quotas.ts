import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Quotas of entities and projects, and what they use on a day. */
export class Quotas1766630000000 implements MigrationInterface {
  name = 'Quotas1766630000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE quotas (
        entity text COLLATE "C" NOT NULL,
        project text COLLATE "C" NOT NULL,
        stored_bytes bigint,
        written_bytes_per_day bigint,
        calls_per_day bigint,
        requests_per_minute bigint,
        CONSTRAINT quotas_pkey PRIMARY KEY (entity, project)
      )`);
    await runner.query(`
      CREATE TABLE project_uses (
        day date NOT NULL,
        entity text COLLATE "C" NOT NULL,
        project text COLLATE "C" NOT NULL,
        requests bigint NOT NULL DEFAULT 0,
        refused_requests bigint NOT NULL DEFAULT 0,
        received_bytes bigint NOT NULL DEFAULT 0,
        written_bytes bigint NOT NULL DEFAULT 0,
        calls bigint NOT NULL DEFAULT 0,
        slot_ms bigint NOT NULL DEFAULT 0,
        CONSTRAINT project_uses_pkey PRIMARY KEY (day, entity, project)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE quotas');
    await runner.query('DROP TABLE project_uses');
  }
}
