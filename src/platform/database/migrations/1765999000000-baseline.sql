-- The tables as they stood when the migrations before were folded into this one.

CREATE TABLE api_keys (
  id uuid NOT NULL,
  user_name text NOT NULL,
  role text NOT NULL,
  scopes text[] NOT NULL,
  secret_hash bytea NOT NULL,
  hint text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_role_check CHECK (role IN ('reader', 'writer', 'admin', 'trainer'))
);

CREATE TABLE audit_events (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  action text COLLATE "C" NOT NULL,
  key_id uuid,
  user_name text COLLATE "C" NOT NULL,
  target text COLLATE "C",
  scopes text[] COLLATE "C",
  detail json NOT NULL,
  CONSTRAINT audit_events_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE body_chunks (
  project_id text COLLATE "C" NOT NULL,
  batch_id uuid NOT NULL,
  seq integer NOT NULL,
  is_payload boolean NOT NULL,
  text bytea NOT NULL,
  edits bytea,
  CONSTRAINT body_chunks_pkey PRIMARY KEY (project_id, batch_id, seq)
);

CREATE TABLE build_chunks (
  project_id text COLLATE "C" NOT NULL,
  build_id uuid NOT NULL,
  seq integer NOT NULL,
  split text COLLATE "C" NOT NULL,
  text bytea NOT NULL,
  CONSTRAINT build_chunks_pkey PRIMARY KEY (project_id, build_id, seq)
);

CREATE TABLE build_inputs (
  project_id text COLLATE "C" NOT NULL,
  build_id uuid NOT NULL,
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  CONSTRAINT build_inputs_pkey PRIMARY KEY (project_id, build_id, kind, id)
);

CREATE TABLE build_jobs (
  project_id text COLLATE "C" NOT NULL,
  build_id uuid NOT NULL,
  job_id uuid NOT NULL,
  log_batch_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  erased_at timestamptz,
  CONSTRAINT build_jobs_pkey PRIMARY KEY (project_id, build_id, job_id)
);

CREATE TABLE build_units (
  project_id text COLLATE "C" NOT NULL,
  build_id uuid NOT NULL,
  group_index integer NOT NULL,
  trajectory_index integer NOT NULL,
  split text COLLATE "C" NOT NULL,
  unit_id text COLLATE "C" NOT NULL,
  call_id text COLLATE "C" NOT NULL,
  reward double precision NOT NULL,
  CONSTRAINT build_units_pkey PRIMARY KEY (project_id, build_id, group_index, trajectory_index)
);

CREATE TABLE builds (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  recipe_name text COLLATE "C" NOT NULL,
  recipe_digest text COLLATE "C" NOT NULL,
  recipe json NOT NULL,
  mode text COLLATE "C" NOT NULL,
  builder_version integer NOT NULL,
  as_of timestamptz NOT NULL,
  digest text COLLATE "C" NOT NULL,
  manifest_digest text COLLATE "C" NOT NULL,
  num_chunks integer NOT NULL,
  counts json NOT NULL,
  lints json NOT NULL,
  facts json NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  erased_at timestamptz,
  CONSTRAINT builds_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE call_indexes (
  project_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  field text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  error text COLLATE "C",
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT call_indexes_kind_check CHECK (kind IN ('text', 'number', 'substring')),
  CONSTRAINT call_indexes_pkey PRIMARY KEY (project_id, name)
);

CREATE TABLE call_slot_marks (
  project_id text COLLATE "C" NOT NULL,
  slot timestamptz NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  call_count bigint NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT call_slot_marks_pkey PRIMARY KEY (project_id, slot, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

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
);

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
);

CREATE TABLE calls (
  project_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  started_at timestamptz,
  ended_at timestamptz,
  deleted_at timestamptz,
  run_step integer,
  run_step_end integer,
  is_opaque boolean NOT NULL DEFAULT false,
  has_descendant_error boolean NOT NULL DEFAULT false,
  op_name text COLLATE "C",
  display_name text COLLATE "C",
  trace_id text COLLATE "C",
  parent_id text COLLATE "C",
  thread_id text COLLATE "C",
  turn_id text COLLATE "C",
  user_id text COLLATE "C",
  run_id text COLLATE "C",
  exception text COLLATE "C",
  attributes json,
  inputs json,
  output json,
  summary json,
  otel_dump json,
  logged jsonb,
  logged_at timestamptz,
  own_inputs json,
  own_output json,
  CONSTRAINT calls_pkey PRIMARY KEY (project_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_threshold = 5000);

CREATE TABLE checkpoints (
  project_id text COLLATE "C" NOT NULL,
  model_id uuid NOT NULL,
  step integer NOT NULL,
  id uuid NOT NULL,
  metrics jsonb NOT NULL DEFAULT '{}',
  uri text COLLATE "C",
  sha256 text COLLATE "C",
  size_bytes bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT checkpoints_pkey PRIMARY KEY (project_id, model_id, step)
);

CREATE TABLE console_sessions (
  token_hash bytea NOT NULL,
  api_key_id uuid NOT NULL,
  is_code boolean NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT console_sessions_pkey PRIMARY KEY (token_hash)
);

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
);

CREATE TABLE erasings (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  kind text COLLATE "C" NOT NULL,
  request json,
  targets text[] COLLATE "C",
  cursor json,
  counts json NOT NULL DEFAULT '{}',
  key_id uuid NOT NULL,
  user_name text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  touched_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  CONSTRAINT erasings_pkey PRIMARY KEY (project_id, id)
);

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
);

CREATE TABLE file_chunks (
  project_id text COLLATE "C" NOT NULL,
  upload_id uuid NOT NULL,
  chunk_index integer NOT NULL,
  bytes bytea NOT NULL,
  CONSTRAINT file_chunks_pkey PRIMARY KEY (project_id, upload_id, chunk_index)
);

CREATE TABLE files (
  project_id text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  upload_id uuid NOT NULL,
  size_bytes integer NOT NULL,
  CONSTRAINT files_pkey PRIMARY KEY (project_id, digest)
);

CREATE TABLE idempotency_keys (
  project_id text COLLATE "C" NOT NULL,
  api_key_id uuid NOT NULL,
  key text COLLATE "C" NOT NULL,
  body_hash bytea NOT NULL,
  response json,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (project_id, api_key_id, key)
);

CREATE TABLE models (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  base_model text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  CONSTRAINT models_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE object_aliases (
  project_id text COLLATE "C" NOT NULL,
  object_id text COLLATE "C" NOT NULL,
  alias text COLLATE "C" NOT NULL,
  version_index integer NOT NULL,
  CONSTRAINT object_aliases_pkey PRIMARY KEY (project_id, object_id, alias)
);

CREATE TABLE object_tags (
  project_id text COLLATE "C" NOT NULL,
  object_id text COLLATE "C" NOT NULL,
  version_index integer NOT NULL,
  tag text COLLATE "C" NOT NULL,
  CONSTRAINT object_tags_pkey PRIMARY KEY (project_id, object_id, version_index, tag)
);

CREATE TABLE object_versions (
  project_id text COLLATE "C" NOT NULL,
  object_id text COLLATE "C" NOT NULL,
  version_index integer NOT NULL,
  digest text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  deleted_at timestamptz,
  is_latest boolean NOT NULL,
  kind text COLLATE "C" NOT NULL,
  base_object_class text COLLATE "C",
  leaf_object_class text COLLATE "C",
  user_id text COLLATE "C",
  size_bytes integer NOT NULL,
  val json NOT NULL,
  CONSTRAINT object_versions_latest_check CHECK (NOT is_latest OR deleted_at IS NULL),
  CONSTRAINT object_versions_pkey PRIMARY KEY (project_id, object_id, version_index)
);

CREATE TABLE project_marks (
  project_id text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  row_count bigint NOT NULL,
  call_count bigint NOT NULL,
  bytes bigint NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT project_marks_pkey PRIMARY KEY (project_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

CREATE TABLE projects (
  project_id text COLLATE "C" NOT NULL,
  row_count bigint NOT NULL,
  call_count bigint NOT NULL,
  bytes bigint NOT NULL,
  last_activity timestamptz NOT NULL,
  CONSTRAINT projects_pkey PRIMARY KEY (project_id)
);

CREATE TABLE retention_policies (
  project_id text COLLATE "C" NOT NULL,
  calls_days integer,
  payload_days integer,
  payload_cursor json,
  walk_started_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT retention_policies_pkey PRIMARY KEY (project_id)
);

CREATE TABLE table_rows (
  project_id text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  is_opaque boolean NOT NULL,
  val json NOT NULL,
  CONSTRAINT table_rows_pkey PRIMARY KEY (project_id, digest)
);

CREATE TABLE tables (
  project_id text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  row_digests bytea NOT NULL,
  CONSTRAINT tables_pkey PRIMARY KEY (project_id, digest)
);

CREATE TABLE thread_marks (
  project_id text COLLATE "C" NOT NULL,
  thread_id text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  CONSTRAINT thread_marks_pkey PRIMARY KEY (project_id, thread_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

CREATE TABLE threads (
  project_id text COLLATE "C" NOT NULL,
  thread_id text COLLATE "C" NOT NULL,
  turn_count integer NOT NULL,
  start_time timestamptz NOT NULL,
  last_updated timestamptz NOT NULL,
  first_turn_id text COLLATE "C" NOT NULL,
  last_turn_id text COLLATE "C" NOT NULL,
  p50_turn_duration_ms double precision,
  p99_turn_duration_ms double precision,
  CONSTRAINT threads_pkey PRIMARY KEY (project_id, thread_id)
);

CREATE TABLE training_job_events (
  project_id text COLLATE "C" NOT NULL,
  job_id uuid NOT NULL,
  seq integer NOT NULL,
  id uuid NOT NULL,
  type text COLLATE "C" NOT NULL,
  data json NOT NULL,
  attempt integer NOT NULL,
  trainer_seq bigint,
  is_hidden boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT training_job_events_pkey PRIMARY KEY (project_id, job_id, seq),
  CONSTRAINT training_job_events_type_check CHECK (type IN ('training_started', 'gradient_step', 'training_ended', 'training_failed'))
);

CREATE TABLE training_jobs (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  model_id uuid NOT NULL,
  batch_id uuid NOT NULL,
  status text COLLATE "C" NOT NULL DEFAULT 'queued',
  attempt integer NOT NULL DEFAULT 0,
  parent_step integer,
  step integer,
  user_id text COLLATE "C" NOT NULL,
  worker_id text COLLATE "C",
  lease_token_hash bytea,
  lease_expires_at timestamptz,
  leased_at timestamptz,
  queued_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz,
  cancel_requested_at timestamptz,
  error_message text COLLATE "C",
  experimental_config json,
  CONSTRAINT training_jobs_pkey PRIMARY KEY (project_id, id),
  CONSTRAINT training_jobs_status_check CHECK (status IN ('queued', 'leased', 'running', 'succeeded', 'failed', 'cancelled'))
);

CREATE TABLE trajectories (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  batch_id uuid NOT NULL,
  group_index integer NOT NULL,
  trajectory_index integer NOT NULL,
  num_tokens integer NOT NULL,
  is_opaque boolean NOT NULL DEFAULT false,
  reward double precision,
  start_time timestamptz NOT NULL,
  document json NOT NULL,
  CONSTRAINT trajectories_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE trajectory_batches (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  model_id uuid NOT NULL,
  split text COLLATE "C",
  job_id uuid,
  step integer NOT NULL,
  num_groups integer NOT NULL,
  num_trajectories integer NOT NULL,
  body_bytes bigint NOT NULL,
  body_sha256 bytea NOT NULL,
  payload_bytes bigint NOT NULL,
  payload_sha256 bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT trajectory_batches_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE uploads (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  touched_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT uploads_pkey PRIMARY KEY (project_id, id)
);

ALTER TABLE body_chunks ALTER COLUMN edits SET STORAGE EXTERNAL;
ALTER TABLE body_chunks ALTER COLUMN text SET STORAGE EXTERNAL;
ALTER TABLE build_chunks ALTER COLUMN text SET STORAGE EXTERNAL;
ALTER TABLE call_slots ALTER COLUMN latencies SET STORAGE EXTERNAL;
ALTER TABLE file_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE tables ALTER COLUMN row_digests SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX api_keys_secret_hash_idx ON api_keys (secret_hash);
CREATE INDEX audit_events_created_idx ON audit_events (created_at, id);
CREATE UNIQUE INDEX audit_events_use_idx ON audit_events (key_id, ((created_at AT TIME ZONE 'UTC')::date)) WHERE action = 'keys.use';
CREATE INDEX build_inputs_id_idx ON build_inputs (project_id, kind, id);
CREATE INDEX build_jobs_job_idx ON build_jobs (project_id, job_id);
CREATE INDEX build_units_unit_idx ON build_units (project_id, unit_id);
CREATE INDEX builds_created_idx ON builds (project_id, created_at, id);
CREATE INDEX calls_failed_idx ON calls (project_id, started_at, id) WHERE exception IS NOT NULL OR has_descendant_error;
CREATE INDEX calls_logged_idx ON calls (project_id, logged_at, id) WHERE op_name IS NULL AND ended_at IS NULL AND display_name IS NULL AND logged_at IS NOT NULL;
CREATE INDEX calls_op_idx ON calls (project_id, op_name);
CREATE INDEX calls_parent_idx ON calls (project_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX calls_root_latency_idx ON calls (project_id, ((extract(epoch FROM ended_at - started_at) * 1000)::float8) DESC NULLS LAST, id)
WHERE parent_id IS NULL;
CREATE INDEX calls_running_idx ON calls (project_id, started_at, id) WHERE ended_at IS NULL;
CREATE INDEX calls_started_idx ON calls (project_id, started_at, id);
CREATE INDEX calls_thread_idx ON calls (project_id, (thread_id || '')) WHERE thread_id IS NOT NULL;
CREATE INDEX calls_trace_idx ON calls (project_id, trace_id);
CREATE INDEX calls_turn_idx ON calls (project_id, turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX calls_turns_idx ON calls (project_id, thread_id, started_at, ended_at, id)
WHERE id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX calls_turns_started_idx ON calls (project_id, started_at) INCLUDE (ended_at, thread_id, id)
WHERE id = turn_id AND thread_id <> '' AND op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL;
CREATE INDEX calls_user_idx ON calls (project_id, user_id);
CREATE INDEX console_sessions_expires_idx ON console_sessions (expires_at);
CREATE INDEX costs_llm_idx ON costs (project_id, llm_id, effective_date, id);
CREATE INDEX erasings_ended_idx ON erasings (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX erasings_open_idx ON erasings (touched_at) WHERE ended_at IS NULL;
CREATE INDEX feedback_created_idx ON feedback (project_id, created_at, id);
CREATE INDEX feedback_ref_idx ON feedback (project_id, ref);
CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at);
CREATE INDEX models_id_idx ON models (id);
CREATE UNIQUE INDEX models_name_idx ON models (project_id, name) WHERE deleted_at IS NULL;
CREATE INDEX object_aliases_alias_idx ON object_aliases (project_id, alias);
CREATE INDEX object_tags_tag_idx ON object_tags (project_id, tag);
CREATE INDEX object_versions_created_idx ON object_versions (project_id, created_at, version_index, object_id) WHERE deleted_at IS NULL;
CREATE INDEX object_versions_latest_created_idx ON object_versions (project_id, created_at, version_index, object_id)
WHERE is_latest;
CREATE UNIQUE INDEX object_versions_latest_idx ON object_versions (project_id, object_id) WHERE is_latest;
CREATE UNIQUE INDEX object_versions_live_idx ON object_versions (project_id, object_id, digest) WHERE deleted_at IS NULL;
CREATE INDEX threads_started_idx ON threads (project_id, start_time DESC, thread_id);
CREATE INDEX threads_turns_asc_idx ON threads (project_id, turn_count, thread_id);
CREATE INDEX threads_turns_idx ON threads (project_id, turn_count DESC, thread_id);
CREATE INDEX threads_updated_idx ON threads (project_id, last_updated DESC, thread_id);
CREATE UNIQUE INDEX training_job_events_once_idx ON training_job_events (project_id, job_id, type) WHERE type <> 'gradient_step';
CREATE UNIQUE INDEX training_job_events_trainer_seq_idx ON training_job_events (project_id, job_id, attempt, trainer_seq);
CREATE INDEX training_jobs_id_idx ON training_jobs (id);
CREATE INDEX training_jobs_model_idx ON training_jobs (project_id, model_id, id);
CREATE UNIQUE INDEX training_jobs_one_running_idx ON training_jobs (project_id, model_id) WHERE status IN ('leased', 'running');
CREATE INDEX training_jobs_queue_idx ON training_jobs (created_at, id) WHERE status = 'queued';
CREATE INDEX trajectories_batch_idx ON trajectories (project_id, batch_id);
CREATE INDEX trajectory_batches_model_idx ON trajectory_batches (project_id, model_id);

-- No statistics of project_id: docs/adr/0007-no-statistics-of-projects.md.
ALTER TABLE audit_events ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE body_chunks ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE build_chunks ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE build_inputs ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE build_jobs ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE build_units ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE builds ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE call_indexes ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE call_slot_marks ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE call_slot_models ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE call_slots ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE calls ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE checkpoints ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE costs ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE erasings ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE feedback ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE file_chunks ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE files ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE idempotency_keys ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE models ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE object_aliases ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE object_tags ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE object_versions ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE project_marks ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE projects ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE retention_policies ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE table_rows ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE tables ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE thread_marks ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE threads ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE training_job_events ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE training_jobs ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE trajectories ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE trajectory_batches ALTER COLUMN project_id SET STATISTICS 0;
ALTER TABLE uploads ALTER COLUMN project_id SET STATISTICS 0;
