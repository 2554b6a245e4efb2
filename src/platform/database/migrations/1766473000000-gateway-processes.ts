import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Processes that pass requests for models on: what tells that one was killed (docs/adr/0120-gateway.md). */
export class GatewayProcesses1766473000000 implements MigrationInterface {
  name = 'GatewayProcesses1766473000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE gateway_processes (
        project_id text COLLATE "C" NOT NULL,
        process_id uuid NOT NULL,
        began_at timestamptz NOT NULL,
        seen_at timestamptz NOT NULL,
        CONSTRAINT gateway_processes_pkey PRIMARY KEY (project_id, process_id)
      )`);
    await runner.query('ALTER TABLE gateway_processes ALTER COLUMN project_id SET STATISTICS 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE gateway_processes');
  }
}
