import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What spans say of agents, in columns that are read without their documents, and what scorers say in feedback. Spans that are there already say nothing until
 * they are sent again: docs/adr/0135-agents.md.
 */
export class AgentSpans1766476000000 implements MigrationInterface {
  name = 'AgentSpans1766476000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE calls ADD COLUMN operation text COLLATE "C", ADD COLUMN agent_name text COLLATE "C",
        ADD COLUMN agent_version text COLLATE "C", ADD COLUMN linked_call_id text COLLATE "C";
      ALTER TABLE feedback ADD COLUMN scorer_tags json, ADD COLUMN scorer_tag_reasons json, ADD COLUMN scorer_tag_confidences json,
        ADD COLUMN scorer_ratings json, ADD COLUMN scorer_rating_reasons json, ADD COLUMN scorer_rating_confidences json,
        ADD COLUMN span_agent_name text COLLATE "C", ADD COLUMN span_agent_version text COLLATE "C",
        ADD COLUMN span_status_code text COLLATE "C", ADD COLUMN span_conversation_id text COLLATE "C",
        ADD COLUMN span_trace_id text COLLATE "C", ADD COLUMN scorer_trace_id text COLLATE "C";
      CREATE INDEX calls_spans_idx ON calls (project_id, started_at, id) WHERE operation IS NOT NULL;
      CREATE INDEX calls_agent_idx ON calls (project_id, agent_name, started_at, id) WHERE agent_name IS NOT NULL;
      CREATE INDEX calls_linked_idx ON calls (project_id, linked_call_id) WHERE linked_call_id IS NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE calls DROP COLUMN operation, DROP COLUMN agent_name, DROP COLUMN agent_version, DROP COLUMN linked_call_id;
      ALTER TABLE feedback DROP COLUMN scorer_tags, DROP COLUMN scorer_tag_reasons, DROP COLUMN scorer_tag_confidences,
        DROP COLUMN scorer_ratings, DROP COLUMN scorer_rating_reasons, DROP COLUMN scorer_rating_confidences,
        DROP COLUMN span_agent_name, DROP COLUMN span_agent_version, DROP COLUMN span_status_code,
        DROP COLUMN span_conversation_id, DROP COLUMN span_trace_id, DROP COLUMN scorer_trace_id`);
  }
}
