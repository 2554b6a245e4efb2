import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Queues of calls to annotate (docs/adr/0130-annotation.md), and where rows of datasets come from (docs/adr/0131-datasets-from-calls.md). */
export class Annotation1766474000000 implements MigrationInterface {
  name = 'Annotation1766474000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE annotation_queues (
        project_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        description text COLLATE "C" NOT NULL,
        scorer_refs json NOT NULL,
        total_items integer NOT NULL DEFAULT 0,
        completed_items integer NOT NULL DEFAULT 0,
        created_by text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        deleted_at timestamptz,
        CONSTRAINT annotation_queues_pkey PRIMARY KEY (project_id, id)
      );
      CREATE INDEX annotation_queues_created_idx ON annotation_queues (project_id, created_at, id) WHERE deleted_at IS NULL;
      CREATE TABLE annotation_queue_items (
        project_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        queue_id text COLLATE "C" NOT NULL,
        position integer NOT NULL,
        call_id text COLLATE "C" NOT NULL,
        call_started_at timestamptz NOT NULL,
        call_ended_at timestamptz,
        call_op_name text COLLATE "C" NOT NULL,
        call_trace_id text COLLATE "C" NOT NULL,
        display_fields json NOT NULL,
        annotation_state text COLLATE "C" NOT NULL DEFAULT 'unstarted',
        annotator_user_id text COLLATE "C",
        created_by text COLLATE "C" NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT annotation_queue_items_pkey PRIMARY KEY (project_id, id)
      );
      CREATE UNIQUE INDEX annotation_queue_items_call_idx ON annotation_queue_items (project_id, call_id, queue_id);
      CREATE INDEX annotation_queue_items_position_idx ON annotation_queue_items (project_id, queue_id, position);
      CREATE INDEX annotation_queue_items_state_idx ON annotation_queue_items (project_id, queue_id, annotation_state, position);
      CREATE TABLE annotation_progress (
        project_id text COLLATE "C" NOT NULL,
        item_id text COLLATE "C" NOT NULL,
        user_id text COLLATE "C" NOT NULL,
        state text COLLATE "C" NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT annotation_progress_pkey PRIMARY KEY (project_id, item_id, user_id)
      );
      CREATE TABLE dataset_row_sources (
        project_id text COLLATE "C" NOT NULL,
        object_id text COLLATE "C" NOT NULL,
        row_digest text COLLATE "C" NOT NULL,
        call_id text COLLATE "C" NOT NULL,
        trace_id text COLLATE "C" NOT NULL,
        thread_id text COLLATE "C",
        added_at timestamptz NOT NULL DEFAULT now(),
        added_by text COLLATE "C" NOT NULL,
        removed_at timestamptz,
        erased_at timestamptz,
        CONSTRAINT dataset_row_sources_pkey PRIMARY KEY (project_id, object_id, row_digest, call_id)
      );
      CREATE INDEX dataset_row_sources_call_idx ON dataset_row_sources (project_id, call_id);
      CREATE INDEX dataset_row_sources_erased_idx ON dataset_row_sources (project_id, object_id, row_digest, call_id)
        WHERE erased_at IS NOT NULL AND removed_at IS NULL;
      ALTER TABLE annotation_queues ALTER COLUMN project_id SET STATISTICS 0;
      ALTER TABLE annotation_queue_items ALTER COLUMN project_id SET STATISTICS 0;
      ALTER TABLE annotation_progress ALTER COLUMN project_id SET STATISTICS 0;
      ALTER TABLE dataset_row_sources ALTER COLUMN project_id SET STATISTICS 0;
      ALTER TABLE feedback ADD COLUMN queue_id text COLLATE "C";
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE feedback DROP COLUMN queue_id;
      DROP TABLE dataset_row_sources, annotation_progress, annotation_queue_items, annotation_queues;
    `);
  }
}
