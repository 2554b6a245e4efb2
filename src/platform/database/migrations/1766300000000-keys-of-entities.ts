import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Keys are counted and listed by the entity that their scopes name first (docs/adr/0019-shares.md). */
export class KeysOfEntities1766300000000 implements MigrationInterface {
  name = 'KeysOfEntities1766300000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX api_keys_entity_idx ON api_keys (split_part(scopes[1], '/', 1), id)`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX api_keys_entity_idx');
  }
}
