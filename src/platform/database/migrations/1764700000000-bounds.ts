import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Uploads of every kind are staged in one way, and a row holds no more prices than are answered. */
export class Bounds1764700000000 implements MigrationInterface {
  name = 'Bounds1764700000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE trajectory_uploads RENAME TO uploads`);
    await runner.query(
      `ALTER TABLE uploads RENAME CONSTRAINT trajectory_uploads_pkey TO uploads_pkey`,
    );
    // For the processes of the version before, until they have ended.
    await runner.query(`CREATE VIEW trajectory_uploads AS SELECT * FROM uploads`);
    await runner.query(prices(FIRST_MODELS));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(prices(ALL_MODELS));
    await runner.query(`DROP VIEW trajectory_uploads`);
    await runner.query(
      `ALTER TABLE uploads RENAME CONSTRAINT uploads_pkey TO trajectory_uploads_pkey`,
    );
    await runner.query(`ALTER TABLE uploads RENAME TO trajectory_uploads`);
  }
}

const USAGE = `json_object_keys(CASE json_typeof(usage.json) WHEN 'object' THEN usage.json END)`;

const ALL_MODELS = `${USAGE} AS model (llm_id)`;

/** The models that are priced: 1000, each once, in JavaScript's order of keys (whole numbers by value come first). */
const FIRST_MODELS = `LATERAL (
          SELECT m.llm_id FROM ${USAGE} WITH ORDINALITY AS m (llm_id, place)
          GROUP BY m.llm_id
          ORDER BY CASE WHEN m.llm_id ~ '^(0|[1-9][0-9]{0,9})$' AND (length(m.llm_id) < 10 OR m.llm_id < '4294967295')
            THEN lpad(m.llm_id, 10, '0') END, min(m.place)
          LIMIT 1000) AS model`;

const prices = (models: string) => `
      CREATE OR REPLACE FUNCTION skein_prices(project text, summary json, is_opaque boolean, started_at timestamptz)
      RETURNS TABLE (records json)
      LANGUAGE sql STABLE PARALLEL SAFE AS $$
        SELECT json_object_agg(model.llm_id, (
          SELECT json_build_object(
            'id', p.id,
            'effective_date', to_char(p.effective_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'provider_id', p.provider_id,
            'prompt_token_cost', p.prompt_token_cost::text,
            'completion_token_cost', p.completion_token_cost::text,
            'cache_read_input_token_cost', p.cache_read_input_token_cost::text,
            'cache_creation_input_token_cost', p.cache_creation_input_token_cost::text,
            'prompt_token_cost_unit', p.prompt_token_cost_unit,
            'completion_token_cost_unit', p.completion_token_cost_unit)
          FROM costs p
          WHERE p.project_id = project AND p.llm_id = model.llm_id AND p.effective_date <= skein_prices.started_at
          ORDER BY p.effective_date DESC, p.id DESC LIMIT 1))
        FROM (SELECT (CASE WHEN is_opaque THEN skein_safe_json(summary) ELSE summary END) -> 'usage' AS json) usage,
          ${models}
      $$`;
