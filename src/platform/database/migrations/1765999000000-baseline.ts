import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = readFileSync(
  fileURLToPath(new URL('./1765999000000-baseline.sql', import.meta.url)),
  'utf8',
);

/** Those of the features' own texts. */
const DROP_FUNCTIONS = `
  DO $$
  DECLARE
    made regprocedure;
  BEGIN
    FOR made IN SELECT oid FROM pg_proc
      WHERE pronamespace = current_schema()::regnamespace AND starts_with(proname, 'skein_') LOOP
      EXECUTE 'DROP FUNCTION ' || made;
    END LOOP;
  END $$`;

/** All tables. `migrate.ts` takes over the databases of builds that made them by older migrations. */
export class Baseline1765999000000 implements MigrationInterface {
  name = 'Baseline1765999000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLES);
  }

  async down(runner: QueryRunner): Promise<void> {
    const names = [...TABLES.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name]) => name!);
    await runner.query(`DROP TABLE ${names.join(', ')}`);
    await runner.query(DROP_FUNCTIONS);
  }
}
