import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Statistics of the calls of every five minutes as of their last refresh, and the marks that say which have changed since
 * (docs/adr/0031-call-statistics.md). The marks are made by triggers, so that whatever writes to `calls` keeps the
 * statistics exact. A trigger looks at all rows of a statement at once: a batch makes one mark for each slot it touches.
 */
export class CallSlots1765100000000 implements MigrationInterface {
  name = 'CallSlots1765100000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE call_slots (
        project_id text COLLATE "C" NOT NULL,
        slot timestamptz NOT NULL,
        call_count bigint NOT NULL,
        ended_count bigint NOT NULL,
        error_count bigint NOT NULL,
        instant_count bigint NOT NULL,
        latency_sum numeric,
        latency_min bigint,
        latency_max bigint,
        latencies bytea,
        bytes bigint NOT NULL,
        CONSTRAINT call_slots_pkey PRIMARY KEY (project_id, slot)
      )`);
    // sorted numbers of eight bytes: read whole, and quicker than they are unpacked
    await runner.query(`ALTER TABLE call_slots ALTER COLUMN latencies SET STORAGE EXTERNAL`);
    await runner.query(`
      CREATE TABLE call_slot_models (
        project_id text COLLATE "C" NOT NULL,
        slot timestamptz NOT NULL,
        llm_id text COLLATE "C" NOT NULL,
        tier smallint NOT NULL,
        unknown_kinds smallint NOT NULL,
        call_count bigint NOT NULL,
        prompt_tokens numeric NOT NULL,
        completion_tokens numeric NOT NULL,
        cache_read_input_tokens numeric NOT NULL,
        cache_creation_input_tokens numeric NOT NULL,
        min_input bigint NOT NULL,
        max_input bigint NOT NULL,
        CONSTRAINT call_slot_models_pkey PRIMARY KEY (project_id, slot, llm_id, tier, unknown_kinds)
      )`);
    await runner.query(`
      CREATE TABLE call_slot_marks (
        project_id text COLLATE "C" NOT NULL,
        slot timestamptz NOT NULL,
        id bigint GENERATED ALWAYS AS IDENTITY,
        call_count bigint NOT NULL,
        made_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT call_slot_marks_pkey PRIMARY KEY (project_id, slot, id)
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)`);
    for (const table of TABLES)
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN project_id SET STATISTICS 0`);
    for (const statement of FUNCTIONS) await runner.query(statement);
    await runner.query(`
      CREATE TRIGGER calls_mark_slots_inserted AFTER INSERT ON calls REFERENCING NEW TABLE AS written
      FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_slots()`);
    await runner.query(`
      CREATE TRIGGER calls_mark_slots_updated AFTER UPDATE ON calls
      REFERENCING OLD TABLE AS replaced NEW TABLE AS written
      FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_slots()`);
    await runner.query(`
      CREATE TRIGGER calls_mark_slots_deleted AFTER DELETE ON calls REFERENCING OLD TABLE AS replaced
      FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_slots()`);
    // calls that are there already; the triggers' locks keep others from writing until all of this is committed
    await runner.query(`${MARK} SELECT ${SLOT}, count(*) FROM calls ${SHOWN} GROUP BY 1, 2`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const event of ['inserted', 'updated', 'deleted'])
      await runner.query(`DROP TRIGGER calls_mark_slots_${event} ON calls`);
    await runner.query(`DROP FUNCTION skein_mark_slots()`);
    await runner.query(`DROP FUNCTION skein_usage(json, boolean)`);
    await runner.query(`DROP FUNCTION skein_count(json)`);
    for (const table of TABLES) await runner.query(`DROP TABLE ${table}`);
  }
}

const TABLES = ['call_slots', 'call_slot_models', 'call_slot_marks'];

const MARK = `INSERT INTO call_slot_marks (project_id, slot, call_count)`;
const SLOT = `project_id, date_bin('5 minutes', started_at, 'epoch') AS slot`;
const SHOWN = `WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL`;

const FUNCTIONS = [
  `CREATE FUNCTION skein_mark_slots() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      ${MARK} SELECT ${SLOT}, count(*) FROM written ${SHOWN} GROUP BY 1, 2;
    ELSIF TG_OP = 'DELETE' THEN
      ${MARK} SELECT ${SLOT}, -count(*) FROM replaced ${SHOWN} GROUP BY 1, 2;
    ELSIF EXISTS (SELECT FROM written) THEN -- an upsert that replaced nothing comes here too
      ${MARK} SELECT project_id, slot, sum(calls) FROM (
        SELECT ${SLOT}, 1 AS calls FROM written ${SHOWN} UNION ALL SELECT ${SLOT}, -1 FROM replaced ${SHOWN}) t
      GROUP BY 1, 2;
    END IF;
    RETURN NULL;
  END $$`,

  /* A number of tokens as src/tracing/usage.ts takes it: what JavaScript reads as a whole number from 0 to 2^53 - 1. */
  `CREATE FUNCTION skein_count(value json) RETURNS bigint
  LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
  DECLARE
    digits text := value::text;
    number double precision;
  BEGIN
    IF digits ~ '^[0-9]{1,15}$' THEN RETURN digits::bigint; END IF;
    IF json_typeof(value) <> 'number' THEN RETURN NULL; END IF;
    BEGIN
      number := digits::double precision;
    EXCEPTION WHEN numeric_value_out_of_range THEN
      RETURN CASE WHEN digits ~ '[eE]-|^-?0[.]' THEN 0 END;
    END;
    RETURN CASE WHEN number = trunc(number) AND number BETWEEN 0 AND 9007199254740991 THEN number::bigint END;
  END $$`,

  /*
   * The usage of a call by model, as src/tracing/usage.ts reads it; a test compares the two. The first 1000 models in
   * JavaScript's order of keys. `unknown_kinds` has a bit for each kind whose tokens it does not say: 1 prompt, 2
   * completion, 4 cache read, 8 cache creation. A name that no record can have is cut, so that an index can hold it.
   */
  `CREATE FUNCTION skein_usage(summary json, is_opaque boolean)
  RETURNS TABLE (llm_id text, unknown_kinds integer, prompt_tokens bigint, completion_tokens bigint,
    cache_read_input_tokens bigint, cache_creation_input_tokens bigint, input_tokens bigint)
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN length(t.llm_id) > 256 THEN left(t.llm_id, 255) || '…' ELSE t.llm_id END COLLATE "C",
      t.unknown_kinds, t.prompt, t.completion, t.cache_read, t.cache_creation, t.prompt + t.cache_read + t.cache_creation
    FROM (
      SELECT r.llm_id, r.completion, r.cache_read, r.cache_creation,
        CASE WHEN r.is_apart OR r.cache_read + r.cache_creation > r.prompt THEN r.prompt
          ELSE r.prompt - r.cache_read - r.cache_creation END AS prompt,
        CASE WHEN r.is_prompt_broken OR r.is_read_broken OR r.is_creation_broken OR r.is_silent THEN 1 ELSE 0 END
          + CASE WHEN r.is_completion_broken OR r.is_silent THEN 2 ELSE 0 END
          + CASE WHEN r.is_read_broken THEN 4 ELSE 0 END + CASE WHEN r.is_creation_broken THEN 8 ELSE 0 END AS unknown_kinds
      FROM (
        SELECT f.*, (coalesce(f.c1, 0) > 0 OR f.cache_creation > 0) AND coalesce(f.p1, 0) = 0
          AND f.total IS DISTINCT FROM f.prompt + f.completion AS is_apart
        FROM (
          SELECT n.*,
            coalesce(nullif(n.p1, 0), nullif(n.p2, 0), nullif(n.p3, 0), 0) AS prompt,
            coalesce(nullif(n.o1, 0), nullif(n.o2, 0), nullif(n.o3, 0), 0) AS completion,
            coalesce(nullif(n.c1, 0), nullif(n.c2, 0), nullif(n.c3, 0), nullif(n.c4, 0), 0) AS cache_read,
            coalesce(n.w1, 0) AS cache_creation,
            coalesce(n.p1, n.p2, n.p3, n.o1, n.o2, n.o3) IS NULL AS is_silent
          FROM (
            SELECT m.llm_id, skein_count(x.total_tokens) AS total,
              skein_count(x.prompt_tokens) AS p1, skein_count(x.input_tokens) AS p2, skein_count(x.prompt_token_count) AS p3,
              skein_count(x.completion_tokens) AS o1, skein_count(x.output_tokens) AS o2,
              skein_count(x.candidates_token_count) AS o3,
              skein_count(x.cache_read_input_tokens) AS c1, skein_count(x.c2) AS c2, skein_count(x.c3) AS c3,
              skein_count(x.cached_content_token_count) AS c4, skein_count(x.cache_creation_input_tokens) AS w1,
              (x.prompt_tokens IS NOT NULL AND skein_count(x.prompt_tokens) IS NULL)
                OR (x.input_tokens IS NOT NULL AND skein_count(x.input_tokens) IS NULL)
                OR (x.prompt_token_count IS NOT NULL AND skein_count(x.prompt_token_count) IS NULL) AS is_prompt_broken,
              (x.completion_tokens IS NOT NULL AND skein_count(x.completion_tokens) IS NULL)
                OR (x.output_tokens IS NOT NULL AND skein_count(x.output_tokens) IS NULL)
                OR (x.candidates_token_count IS NOT NULL AND skein_count(x.candidates_token_count) IS NULL)
                AS is_completion_broken,
              (x.cache_read_input_tokens IS NOT NULL AND skein_count(x.cache_read_input_tokens) IS NULL)
                OR (x.c2 IS NOT NULL AND skein_count(x.c2) IS NULL) OR (x.c3 IS NOT NULL AND skein_count(x.c3) IS NULL)
                OR (x.cached_content_token_count IS NOT NULL AND skein_count(x.cached_content_token_count) IS NULL)
                AS is_read_broken,
              x.cache_creation_input_tokens IS NOT NULL AND skein_count(x.cache_creation_input_tokens) IS NULL
                AS is_creation_broken
            FROM (
              SELECT (CASE WHEN is_opaque THEN skein_safe_json(summary) ELSE summary END) -> 'usage' AS json OFFSET 0
            ) u CROSS JOIN LATERAL (
              SELECT e.llm_id, (array_agg(e.usage ORDER BY e.place DESC))[1] AS usage
              FROM json_each(CASE json_typeof(u.json) WHEN 'object' THEN u.json END) WITH ORDINALITY AS e (llm_id, usage, place)
              GROUP BY e.llm_id
              ORDER BY CASE WHEN e.llm_id ~ '^(0|[1-9][0-9]{0,9})$' AND (length(e.llm_id) < 10 OR e.llm_id < '4294967295')
                THEN lpad(e.llm_id, 10, '0') END, min(e.place)
              LIMIT 1000
            ) m CROSS JOIN LATERAL (
              SELECT y.*,
                CASE WHEN json_typeof(y.prompt_tokens_details -> 'cached_tokens') <> 'null'
                  THEN y.prompt_tokens_details -> 'cached_tokens' END AS c2,
                CASE WHEN json_typeof(y.input_tokens_details -> 'cached_tokens') <> 'null'
                  THEN y.input_tokens_details -> 'cached_tokens' END AS c3
              FROM json_to_record(CASE json_typeof(m.usage) WHEN 'object' THEN m.usage END) AS y (
                prompt_tokens json, input_tokens json, prompt_token_count json, completion_tokens json, output_tokens json,
                candidates_token_count json, cache_read_input_tokens json, prompt_tokens_details json,
                input_tokens_details json, cached_content_token_count json, cache_creation_input_tokens json,
                total_tokens json) OFFSET 0
            ) x WHERE json_typeof(m.usage) = 'object' OFFSET 0
          ) n OFFSET 0
        ) f
      ) r
    ) t
  $$`,
];
