import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sessions of the console, and the codes of login links (docs/adr/0090-console-sessions.md). */
export class ConsoleSessions1765400000000 implements MigrationInterface {
  name = 'ConsoleSessions1765400000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE console_sessions (
        token_hash bytea NOT NULL,
        api_key_id uuid NOT NULL,
        is_code boolean NOT NULL,
        expires_at timestamptz NOT NULL,
        CONSTRAINT console_sessions_pkey PRIMARY KEY (token_hash)
      )`);
    await runner.query(
      `CREATE INDEX console_sessions_expires_idx ON console_sessions (expires_at)`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE console_sessions`);
  }
}
