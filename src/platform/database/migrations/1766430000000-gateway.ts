import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Checkpoints that are served, and what keys ask of models in a day (docs/adr/0120-gateway.md). */
export class Gateway1766430000000 implements MigrationInterface {
  name = 'Gateway1766430000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE served_checkpoints (
        project_id text COLLATE "C" NOT NULL,
        model_id uuid NOT NULL,
        step integer NOT NULL,
        provider text COLLATE "C" NOT NULL,
        upstream_model text COLLATE "C" NOT NULL,
        expires_at timestamptz NOT NULL,
        CONSTRAINT served_checkpoints_pkey PRIMARY KEY (project_id, model_id, step, provider)
      )`);
    await runner.query('ALTER TABLE served_checkpoints ALTER COLUMN project_id SET STATISTICS 0');
    await runner.query(`
      CREATE TABLE gateway_uses (
        key_id text COLLATE "C" NOT NULL,
        day date NOT NULL,
        requests bigint NOT NULL DEFAULT 0,
        cost numeric NOT NULL DEFAULT 0,
        CONSTRAINT gateway_uses_pkey PRIMARY KEY (key_id, day)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE served_checkpoints, gateway_uses');
  }
}
