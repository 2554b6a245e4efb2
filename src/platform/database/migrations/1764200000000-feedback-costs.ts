import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Feedback, price records, and the function that finds the records a call is priced by. */
export class FeedbackCosts1764200000000 implements MigrationInterface {
  name = 'FeedbackCosts1764200000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE feedback (
        project_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        is_opaque boolean NOT NULL DEFAULT false,
        feedback_type text COLLATE "C" NOT NULL,
        ref text COLLATE "C" NOT NULL,
        annotation_ref text COLLATE "C",
        runnable_ref text COLLATE "C",
        call_ref text COLLATE "C",
        trigger_ref text COLLATE "C",
        creator text COLLATE "C",
        user_id text COLLATE "C" NOT NULL,
        payload json NOT NULL,
        CONSTRAINT feedback_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(`CREATE INDEX feedback_ref_idx ON feedback (project_id, ref)`);
    await runner.query(
      `CREATE INDEX feedback_created_idx ON feedback (project_id, created_at, id)`,
    );
    await runner.query(`
      CREATE TABLE costs (
        project_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        llm_id text COLLATE "C" NOT NULL,
        effective_date timestamptz NOT NULL,
        provider_id text COLLATE "C" NOT NULL,
        prompt_token_cost numeric NOT NULL,
        completion_token_cost numeric NOT NULL,
        cache_read_input_token_cost numeric,
        cache_creation_input_token_cost numeric,
        prompt_token_cost_unit text COLLATE "C" NOT NULL,
        completion_token_cost_unit text COLLATE "C" NOT NULL,
        CONSTRAINT costs_pkey PRIMARY KEY (project_id, id)
      )`);
    await runner.query(
      `CREATE INDEX costs_llm_idx ON costs (project_id, llm_id, effective_date, id)`,
    );
    /*
     * For each model of `summary.usage`, the project's record that was in force when the call started, or null. Prices
     * are strings, so that no reader takes them for doubles. Of records with one effective_date the latest id wins.
     * A table of one row, because PostgreSQL folds such a function into the query, which is four times as fast as a call.
     */
    await runner.query(`
      CREATE FUNCTION skein_prices(project text, summary json, is_opaque boolean, started_at timestamptz)
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
          json_object_keys(CASE json_typeof(usage.json) WHEN 'object' THEN usage.json END) AS model (llm_id)
      $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION skein_prices(text, json, boolean, timestamptz)`);
    await runner.query(`DROP TABLE costs`);
    await runner.query(`DROP TABLE feedback`);
  }
}
