-- The whole schema, printed by `npm run generate`: nothing reads it but people.

CREATE TABLE annotation_progress (
  project_id text COLLATE "C" NOT NULL,
  item_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT annotation_progress_pkey PRIMARY KEY (project_id, item_id, user_id)
);

CREATE TABLE annotation_queue_items (
  project_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  queue_id text COLLATE "C" NOT NULL,
  position integer NOT NULL,
  call_id text COLLATE "C" NOT NULL,
  call_started_at timestamp with time zone NOT NULL,
  call_ended_at timestamp with time zone,
  call_op_name text COLLATE "C" NOT NULL,
  call_trace_id text COLLATE "C" NOT NULL,
  display_fields json NOT NULL,
  annotation_state text COLLATE "C" NOT NULL DEFAULT 'unstarted'::text,
  annotator_user_id text COLLATE "C",
  created_by text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT annotation_queue_items_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE annotation_queues (
  project_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  description text COLLATE "C" NOT NULL,
  scorer_refs json NOT NULL,
  total_items integer NOT NULL DEFAULT 0,
  completed_items integer NOT NULL DEFAULT 0,
  created_by text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  deleted_at timestamp with time zone,
  CONSTRAINT annotation_queues_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE api_keys (
  id uuid NOT NULL,
  user_name text NOT NULL,
  role text NOT NULL,
  scopes text[] NOT NULL,
  secret_hash bytea NOT NULL,
  hint text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  user_id uuid,
  created_by text,
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_role_check CHECK ((role = ANY (ARRAY['reader'::text, 'writer'::text, 'admin'::text, 'trainer'::text])))
);

CREATE TABLE audit_events (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  action text COLLATE "C" NOT NULL,
  key_id uuid,
  user_name text COLLATE "C" NOT NULL,
  target text COLLATE "C",
  scopes text[] COLLATE "C",
  detail json NOT NULL,
  user_id uuid,
  CONSTRAINT audit_events_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE body_chunks (
  project_id text COLLATE "C" NOT NULL,
  batch_id uuid NOT NULL,
  seq integer NOT NULL,
  text bytea NOT NULL,
  groups_before integer,
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
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  erased_at timestamp with time zone,
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
  as_of timestamp with time zone NOT NULL,
  digest text COLLATE "C" NOT NULL,
  manifest_digest text COLLATE "C" NOT NULL,
  num_chunks integer NOT NULL,
  counts json NOT NULL,
  lints json NOT NULL,
  facts json NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  erased_at timestamp with time zone,
  tainted_at timestamp with time zone,
  CONSTRAINT builds_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE call_indexes (
  project_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  field text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  error text COLLATE "C",
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT call_indexes_kind_check CHECK ((kind = ANY (ARRAY['text'::text, 'number'::text, 'substring'::text]))),
  CONSTRAINT call_indexes_pkey PRIMARY KEY (project_id, name)
);

CREATE TABLE call_slot_marks (
  project_id text COLLATE "C" NOT NULL,
  slot timestamp with time zone NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  call_count bigint NOT NULL,
  made_at timestamp with time zone NOT NULL DEFAULT now(),
  parent_ids text[],
  response_ids text[],
  bytes bigint NOT NULL DEFAULT 0,
  CONSTRAINT call_slot_marks_pkey PRIMARY KEY (project_id, slot, id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=10000);

CREATE TABLE call_slot_models (
  project_id text COLLATE "C" NOT NULL,
  slot timestamp with time zone NOT NULL,
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
  details numeric[],
  CONSTRAINT call_slot_models_pkey PRIMARY KEY (project_id, slot, llm_id, tier, unknown_kinds)
);

CREATE TABLE call_slots (
  project_id text COLLATE "C" NOT NULL,
  slot timestamp with time zone NOT NULL,
  call_count bigint NOT NULL,
  ended_count bigint NOT NULL,
  error_count bigint NOT NULL,
  instant_count bigint NOT NULL,
  latency_sum numeric,
  latency_min bigint,
  latency_max bigint,
  latencies bytea,
  bytes bigint NOT NULL,
  computed_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT call_slots_pkey PRIMARY KEY (project_id, slot)
);

CREATE TABLE call_text_ids (
  project_id text COLLATE "C" NOT NULL,
  segment bigint NOT NULL,
  row integer NOT NULL,
  ids json NOT NULL,
  first_at timestamp with time zone NOT NULL,
  last_at timestamp with time zone NOT NULL,
  CONSTRAINT call_text_ids_pkey PRIMARY KEY (project_id, segment, "row")
) WITH (autovacuum_vacuum_scale_factor=0.02, toast_tuple_target=8160);

CREATE TABLE call_text_marks (
  project_id text COLLATE "C" NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  slot timestamp with time zone NOT NULL,
  call_ids text[] NOT NULL,
  is_erasing boolean NOT NULL,
  CONSTRAINT call_text_marks_pkey PRIMARY KEY (project_id, id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=10000, toast_tuple_target=8160);

CREATE TABLE call_text_parts (
  project_id text COLLATE "C" NOT NULL,
  segment bigint NOT NULL,
  part integer NOT NULL,
  bytes bytea NOT NULL,
  CONSTRAINT call_text_parts_pkey PRIMARY KEY (project_id, segment, part)
) WITH (autovacuum_vacuum_scale_factor=0.02, toast_tuple_target=8160);

CREATE TABLE call_text_segments (
  project_id text COLLATE "C" NOT NULL,
  segment bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  calls integer NOT NULL,
  bytes integer NOT NULL,
  bits smallint NOT NULL,
  first_at timestamp with time zone NOT NULL,
  last_at timestamp with time zone NOT NULL,
  CONSTRAINT call_text_segments_pkey PRIMARY KEY (project_id, segment)
);

CREATE TABLE call_text_walks (
  project_id text COLLATE "C" NOT NULL,
  before timestamp with time zone NOT NULL,
  CONSTRAINT call_text_walks_pkey PRIMARY KEY (project_id)
);

CREATE TABLE calls (
  project_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  deleted_at timestamp with time zone,
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
  logged_at timestamp with time zone,
  own_inputs json,
  own_output json,
  response_id text COLLATE "C",
  usage json,
  counts_gross boolean NOT NULL DEFAULT false,
  has_unread_usage boolean NOT NULL DEFAULT true,
  operation text COLLATE "C",
  agent_name text COLLATE "C",
  agent_version text COLLATE "C",
  linked_call_id text COLLATE "C",
  is_orphan boolean NOT NULL DEFAULT false,
  thread_source text COLLATE "C",
  event_times json,
  is_renamed boolean NOT NULL DEFAULT false,
  source text COLLATE "C" NOT NULL DEFAULT 'production'::text,
  own_source text COLLATE "C",
  CONSTRAINT calls_pkey PRIMARY KEY (project_id, id)
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=5000, toast.autovacuum_vacuum_scale_factor=0.02, toast.autovacuum_vacuum_threshold=5000);

CREATE TABLE checkpoint_chunks (
  project_id text COLLATE "C" NOT NULL,
  upload_id uuid NOT NULL,
  seq integer NOT NULL,
  bytes bytea NOT NULL,
  CONSTRAINT checkpoint_chunks_pkey PRIMARY KEY (project_id, upload_id, seq)
);

CREATE TABLE checkpoint_parts (
  project_id text COLLATE "C" NOT NULL,
  job_id uuid NOT NULL,
  file text COLLATE "C" NOT NULL,
  part integer NOT NULL,
  upload_id uuid NOT NULL,
  size_bytes integer NOT NULL,
  CONSTRAINT checkpoint_parts_pkey PRIMARY KEY (project_id, job_id, file, part)
);

CREATE TABLE checkpoints (
  project_id text COLLATE "C" NOT NULL,
  model_id uuid NOT NULL,
  step integer NOT NULL,
  id uuid NOT NULL,
  metrics jsonb NOT NULL DEFAULT '{}'::jsonb,
  uri text COLLATE "C",
  sha256 text COLLATE "C",
  size_bytes bigint,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  job_id uuid,
  files json,
  config json,
  tainted_at timestamp with time zone,
  CONSTRAINT checkpoints_pkey PRIMARY KEY (project_id, model_id, step)
);

CREATE TABLE console_sessions (
  token_hash bytea NOT NULL,
  api_key_id uuid,
  is_code boolean NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  user_id uuid,
  issuer text COLLATE "C",
  sid text COLLATE "C",
  id_token text,
  refresh_token text,
  checked_at timestamp with time zone,
  CONSTRAINT console_sessions_holder_check CHECK ((num_nonnulls(api_key_id, user_id) = 1)),
  CONSTRAINT console_sessions_pkey PRIMARY KEY (token_hash)
);

CREATE TABLE costs (
  project_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  llm_id text COLLATE "C" NOT NULL,
  effective_date timestamp with time zone NOT NULL,
  provider_id text COLLATE "C" NOT NULL,
  prompt_token_cost numeric NOT NULL,
  completion_token_cost numeric NOT NULL,
  cache_read_input_token_cost numeric,
  cache_creation_input_token_cost numeric,
  prompt_token_cost_unit text COLLATE "C" NOT NULL,
  completion_token_cost_unit text COLLATE "C" NOT NULL,
  CONSTRAINT costs_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE dataset_import_rows (
  project_id text COLLATE "C" NOT NULL,
  upload_id uuid NOT NULL,
  digest text COLLATE "C" NOT NULL,
  seq integer NOT NULL,
  is_opaque boolean NOT NULL,
  val json NOT NULL,
  CONSTRAINT dataset_import_rows_pkey PRIMARY KEY (project_id, upload_id, digest)
);

CREATE TABLE dataset_row_sources (
  project_id text COLLATE "C" NOT NULL,
  object_id text COLLATE "C" NOT NULL,
  row_digest text COLLATE "C" NOT NULL,
  call_id text COLLATE "C" NOT NULL,
  trace_id text COLLATE "C" NOT NULL,
  thread_id text COLLATE "C",
  added_at timestamp with time zone NOT NULL DEFAULT now(),
  added_by text COLLATE "C" NOT NULL,
  removed_at timestamp with time zone,
  erased_at timestamp with time zone,
  CONSTRAINT dataset_row_sources_pkey PRIMARY KEY (project_id, object_id, row_digest, call_id)
);

CREATE TABLE erasings (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  kind text COLLATE "C" NOT NULL,
  request json,
  targets text[] COLLATE "C",
  cursor json,
  counts json NOT NULL DEFAULT '{}'::json,
  key_id uuid NOT NULL,
  user_name text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  touched_at timestamp with time zone NOT NULL DEFAULT now(),
  ended_at timestamp with time zone,
  CONSTRAINT erasings_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE export_schedules (
  project_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  format text COLLATE "C" NOT NULL,
  every text COLLATE "C",
  request json NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  failures integer NOT NULL DEFAULT 0,
  last_error text COLLATE "C",
  retry_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT export_schedules_pkey PRIMARY KEY (project_id, name)
);

CREATE TABLE exported_files (
  project_id text COLLATE "C" NOT NULL,
  schedule text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  print text COLLATE "C" NOT NULL DEFAULT ''::text,
  window_start timestamp with time zone,
  window_end timestamp with time zone,
  row_count bigint NOT NULL DEFAULT 0,
  bytes bigint NOT NULL DEFAULT 0,
  sha256 text COLLATE "C",
  schema_version integer,
  written_at timestamp with time zone,
  CONSTRAINT exported_files_pkey PRIMARY KEY (project_id, schedule, path)
);

CREATE TABLE feedback (
  project_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
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
  queue_id text COLLATE "C",
  scorer_tags json,
  scorer_tag_reasons json,
  scorer_tag_confidences json,
  scorer_ratings json,
  scorer_rating_reasons json,
  scorer_rating_confidences json,
  span_agent_name text COLLATE "C",
  span_agent_version text COLLATE "C",
  span_status_code text COLLATE "C",
  span_conversation_id text COLLATE "C",
  span_trace_id text COLLATE "C",
  scorer_trace_id text COLLATE "C",
  event_times json,
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

CREATE TABLE folded_spans (
  project_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  parent_id text COLLATE "C",
  folded_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT folded_spans_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE gateway_processes (
  project_id text COLLATE "C" NOT NULL,
  process_id uuid NOT NULL,
  began_at timestamp with time zone NOT NULL,
  seen_at timestamp with time zone NOT NULL,
  CONSTRAINT gateway_processes_pkey PRIMARY KEY (project_id, process_id)
);

CREATE TABLE gateway_uses (
  key_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  requests bigint NOT NULL DEFAULT 0,
  cost numeric NOT NULL DEFAULT 0,
  CONSTRAINT gateway_uses_pkey PRIMARY KEY (key_id, day)
);

CREATE TABLE idempotency_keys (
  project_id text COLLATE "C" NOT NULL,
  api_key_id uuid NOT NULL,
  key text COLLATE "C" NOT NULL,
  body_hash bytea NOT NULL,
  response json,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (project_id, api_key_id, key)
);

CREATE TABLE kept_trials (
  project_id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  chunk integer NOT NULL,
  chunks integer NOT NULL,
  ids json,
  digests json,
  numbers json,
  scores json,
  full_scores json,
  spent json,
  CONSTRAINT kept_trials_pkey PRIMARY KEY (project_id, run_id, chunk)
);

CREATE TABLE legal_holds (
  project_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  user_name text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  trace_id text COLLATE "C",
  thread_id text COLLATE "C",
  reason text COLLATE "C",
  CONSTRAINT legal_holds_pkey PRIMARY KEY (project_id, name)
);

CREATE TABLE media (
  project_id text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  size_bytes integer NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  secret bytea NOT NULL,
  digest text COLLATE "C",
  uploaded_at timestamp with time zone,
  CONSTRAINT media_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE memberships (
  id uuid NOT NULL,
  scope text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT memberships_kind_check CHECK ((kind = ANY (ARRAY['user'::text, 'email'::text, 'group'::text]))),
  CONSTRAINT memberships_pkey PRIMARY KEY (id),
  CONSTRAINT memberships_role_check CHECK ((role = ANY (ARRAY['reader'::text, 'writer'::text, 'admin'::text])))
);

CREATE TABLE model_alias_moves (
  project_id text COLLATE "C" NOT NULL,
  model_id uuid NOT NULL,
  alias text COLLATE "C" NOT NULL,
  seq integer NOT NULL,
  step integer,
  previous_step integer,
  moved_at timestamp with time zone NOT NULL DEFAULT now(),
  moved_by text COLLATE "C" NOT NULL,
  by_hand boolean NOT NULL,
  gate json,
  reason text COLLATE "C",
  CONSTRAINT model_alias_moves_pkey PRIMARY KEY (project_id, model_id, alias, seq)
);

CREATE TABLE model_aliases (
  project_id text COLLATE "C" NOT NULL,
  model_id uuid NOT NULL,
  alias text COLLATE "C" NOT NULL,
  step integer NOT NULL,
  seq integer NOT NULL,
  CONSTRAINT model_aliases_pkey PRIMARY KEY (project_id, model_id, alias)
);

CREATE TABLE models (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  base_model text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  deleted_at timestamp with time zone,
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
  created_at timestamp with time zone NOT NULL,
  deleted_at timestamp with time zone,
  is_latest boolean NOT NULL,
  kind text COLLATE "C" NOT NULL,
  base_object_class text COLLATE "C",
  leaf_object_class text COLLATE "C",
  user_id text COLLATE "C",
  size_bytes integer NOT NULL,
  val json NOT NULL,
  CONSTRAINT object_versions_latest_check CHECK (((NOT is_latest) OR (deleted_at IS NULL))),
  CONSTRAINT object_versions_pkey PRIMARY KEY (project_id, object_id, version_index)
);

CREATE TABLE orphan_walks (
  project_id text COLLATE "C" NOT NULL,
  until timestamp with time zone NOT NULL,
  started_at timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
  call_id text COLLATE "C" NOT NULL DEFAULT ''::text,
  CONSTRAINT orphan_walks_pkey PRIMARY KEY (project_id)
);

CREATE TABLE project_marks (
  project_id text COLLATE "C" NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  row_count bigint NOT NULL,
  call_count bigint NOT NULL,
  bytes bigint NOT NULL,
  made_at timestamp with time zone NOT NULL DEFAULT now(),
  written_bytes bigint NOT NULL DEFAULT 0,
  CONSTRAINT project_marks_pkey PRIMARY KEY (project_id, id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=10000);

CREATE TABLE project_uses (
  day date NOT NULL,
  entity text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  requests bigint NOT NULL DEFAULT 0,
  refused_requests bigint NOT NULL DEFAULT 0,
  received_bytes bigint NOT NULL DEFAULT 0,
  written_bytes bigint NOT NULL DEFAULT 0,
  calls bigint NOT NULL DEFAULT 0,
  slot_ms bigint NOT NULL DEFAULT 0,
  CONSTRAINT project_uses_pkey PRIMARY KEY (day, entity, project)
);

CREATE TABLE projects (
  project_id text COLLATE "C" NOT NULL,
  row_count bigint NOT NULL,
  call_count bigint NOT NULL,
  bytes bigint NOT NULL,
  last_activity timestamp with time zone NOT NULL,
  CONSTRAINT projects_pkey PRIMARY KEY (project_id)
);

CREATE TABLE quotas (
  entity text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  stored_bytes bigint,
  written_bytes_per_day bigint,
  calls_per_day bigint,
  requests_per_minute bigint,
  CONSTRAINT quotas_pkey PRIMARY KEY (entity, project)
);

CREATE TABLE retention_clock (
  is_only boolean NOT NULL DEFAULT true,
  seen_at timestamp with time zone NOT NULL,
  ahead_ms double precision NOT NULL DEFAULT 0,
  waits_until timestamp with time zone,
  CONSTRAINT retention_clock_pkey PRIMARY KEY (is_only)
);

CREATE TABLE retention_policies (
  project_id text COLLATE "C" NOT NULL,
  calls_days integer,
  payload_days integer,
  payload_cursor json,
  walk_started_at timestamp with time zone NOT NULL DEFAULT now(),
  feedback_days integer,
  is_default boolean NOT NULL DEFAULT false,
  CONSTRAINT retention_policies_pkey PRIMARY KEY (project_id)
);

CREATE TABLE served_checkpoints (
  project_id text COLLATE "C" NOT NULL,
  model_id uuid NOT NULL,
  step integer NOT NULL,
  provider text COLLATE "C" NOT NULL,
  upstream_model text COLLATE "C" NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT served_checkpoints_pkey PRIMARY KEY (project_id, model_id, step, provider)
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
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  CONSTRAINT thread_marks_pkey PRIMARY KEY (project_id, thread_id, id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=10000);

CREATE TABLE threads (
  project_id text COLLATE "C" NOT NULL,
  thread_id text COLLATE "C" NOT NULL,
  turn_count integer NOT NULL,
  start_time timestamp with time zone NOT NULL,
  last_updated timestamp with time zone NOT NULL,
  first_turn_id text COLLATE "C" NOT NULL,
  last_turn_id text COLLATE "C" NOT NULL,
  p50_turn_duration_ms double precision,
  p99_turn_duration_ms double precision,
  CONSTRAINT threads_pkey PRIMARY KEY (project_id, thread_id)
);

CREATE TABLE training_data (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  num_rows integer NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT training_data_pkey PRIMARY KEY (project_id, id)
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
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT training_job_events_pkey PRIMARY KEY (project_id, job_id, seq),
  CONSTRAINT training_job_events_type_check CHECK ((type = ANY (ARRAY['training_started'::text, 'gradient_step'::text, 'training_ended'::text, 'training_failed'::text, 'note'::text, 'evaluation'::text])))
);

CREATE TABLE training_jobs (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  model_id uuid NOT NULL,
  batch_id uuid NOT NULL,
  status text COLLATE "C" NOT NULL DEFAULT 'queued'::text,
  attempt integer NOT NULL DEFAULT 0,
  parent_step integer,
  step integer,
  user_id text COLLATE "C" NOT NULL,
  worker_id text COLLATE "C",
  lease_token_hash bytea,
  lease_expires_at timestamp with time zone,
  leased_at timestamp with time zone,
  queued_at timestamp with time zone NOT NULL DEFAULT now(),
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  cancel_requested_at timestamp with time zone,
  error_message text COLLATE "C",
  experimental_config json,
  state json,
  no_step_reason text COLLATE "C",
  tainted_at timestamp with time zone,
  retrains_job_id uuid,
  kind text COLLATE "C" NOT NULL DEFAULT 'rl'::text,
  config json,
  training_data_url text COLLATE "C",
  CONSTRAINT training_jobs_kind_check CHECK ((kind = ANY (ARRAY['rl'::text, 'sft'::text]))),
  CONSTRAINT training_jobs_pkey PRIMARY KEY (project_id, id),
  CONSTRAINT training_jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'leased'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))
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
  start_time timestamp with time zone NOT NULL,
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
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT trajectory_batches_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE trial_marks (
  project_id text COLLATE "C" NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  call_ids text[] COLLATE "C" NOT NULL,
  run_ids text[] COLLATE "C" NOT NULL,
  CONSTRAINT trial_marks_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE uploads (
  project_id text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  touched_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT uploads_pkey PRIMARY KEY (project_id, id)
);

CREATE TABLE users (
  id uuid NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  email text COLLATE "C",
  email_verified boolean NOT NULL,
  name text COLLATE "C",
  groups text[] COLLATE "C" NOT NULL,
  is_active boolean NOT NULL DEFAULT true,
  first_seen timestamp with time zone NOT NULL DEFAULT now(),
  last_seen timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT users_pkey PRIMARY KEY (id)
);

ALTER TABLE annotation_progress ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE annotation_queue_items ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE annotation_queues ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE audit_events ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE body_chunks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE body_chunks ALTER COLUMN text SET STORAGE EXTERNAL;

ALTER TABLE build_chunks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE build_chunks ALTER COLUMN text SET STORAGE EXTERNAL;

ALTER TABLE build_inputs ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE build_jobs ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE build_units ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE builds ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE call_indexes ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE call_slot_marks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE call_slot_models ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE call_slots ALTER COLUMN latencies SET STORAGE EXTERNAL;

ALTER TABLE call_slots ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE call_text_ids ALTER COLUMN ids SET STORAGE EXTERNAL;

ALTER TABLE call_text_ids ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE call_text_marks ALTER COLUMN call_ids SET STORAGE EXTERNAL;

ALTER TABLE call_text_marks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE call_text_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;

ALTER TABLE call_text_parts ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE call_text_segments ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE call_text_walks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE calls ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE checkpoint_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;

ALTER TABLE checkpoint_chunks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE checkpoint_parts ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE checkpoints ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE costs ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE dataset_import_rows ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE dataset_row_sources ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE erasings ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE export_schedules ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE exported_files ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE feedback ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE file_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;

ALTER TABLE file_chunks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE files ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE folded_spans ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE gateway_processes ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE idempotency_keys ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE kept_trials ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE legal_holds ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE media ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE model_alias_moves ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE model_aliases ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE models ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE object_aliases ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE object_tags ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE object_versions ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE orphan_walks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE project_marks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE projects ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE retention_policies ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE served_checkpoints ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE table_rows ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE tables ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE tables ALTER COLUMN row_digests SET STORAGE EXTERNAL;

ALTER TABLE thread_marks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE threads ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE training_data ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE training_job_events ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE training_jobs ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE trajectories ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE trajectory_batches ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE trial_marks ALTER COLUMN project_id SET STATISTICS 0;

ALTER TABLE uploads ALTER COLUMN project_id SET STATISTICS 0;

CREATE UNIQUE INDEX annotation_queue_items_call_idx ON annotation_queue_items USING btree (project_id, call_id, queue_id);

CREATE INDEX annotation_queue_items_position_idx ON annotation_queue_items USING btree (project_id, queue_id, "position");

CREATE INDEX annotation_queue_items_state_idx ON annotation_queue_items USING btree (project_id, queue_id, annotation_state, "position");

CREATE INDEX annotation_queues_created_idx ON annotation_queues USING btree (project_id, created_at, id) WHERE (deleted_at IS NULL);

CREATE INDEX api_keys_entity_idx ON api_keys USING btree (split_part(scopes[1], '/'::text, 1), id);

CREATE UNIQUE INDEX api_keys_secret_hash_idx ON api_keys USING btree (secret_hash);

CREATE INDEX api_keys_user_idx ON api_keys USING btree (user_id, id) WHERE (user_id IS NOT NULL);

CREATE INDEX audit_events_created_idx ON audit_events USING btree (created_at, id);

CREATE UNIQUE INDEX audit_events_use_idx ON audit_events USING btree (key_id, (((created_at AT TIME ZONE 'UTC'::text))::date)) WHERE (action = 'keys.use'::text);

CREATE INDEX build_inputs_id_idx ON build_inputs USING btree (project_id, kind, id);

CREATE INDEX build_jobs_job_idx ON build_jobs USING btree (project_id, job_id);

CREATE INDEX build_units_unit_idx ON build_units USING btree (project_id, unit_id);

CREATE INDEX builds_created_idx ON builds USING btree (project_id, created_at, id);

CREATE INDEX call_slots_computed_idx ON call_slots USING btree (project_id, slot, computed_at);

CREATE INDEX calls_agent_idx ON calls USING btree (project_id, agent_name, started_at, id) WHERE (agent_name IS NOT NULL);

CREATE INDEX calls_failed_idx ON calls USING btree (project_id, started_at, id) WHERE ((exception IS NOT NULL) OR has_descendant_error);

CREATE INDEX calls_linked_idx ON calls USING btree (project_id, linked_call_id) WHERE (linked_call_id IS NOT NULL);

CREATE INDEX calls_logged_idx ON calls USING btree (project_id, logged_at, id) WHERE ((op_name IS NULL) AND (ended_at IS NULL) AND (display_name IS NULL) AND (logged_at IS NOT NULL));

CREATE INDEX calls_named_idx ON calls USING btree (project_id, trace_id) WHERE ((num_nulls(parent_id, thread_id) = 0) AND (num_nulls(thread_source, otel_dump) < 2));

CREATE INDEX calls_op_idx ON calls USING btree (project_id, op_name);

CREATE INDEX calls_orphans_idx ON calls USING btree (project_id, parent_id) WHERE is_orphan;

CREATE INDEX calls_parent_idx ON calls USING btree (project_id, parent_id) WHERE (parent_id IS NOT NULL);

CREATE INDEX calls_response_idx ON calls USING btree (project_id, response_id, started_at, id) WHERE (response_id IS NOT NULL);

CREATE INDEX calls_root_latency_idx ON calls USING btree (project_id, (((EXTRACT(epoch FROM (ended_at - started_at)) * (1000)::numeric))::double precision) DESC NULLS LAST, id) WHERE (((parent_id IS NULL) OR is_orphan) AND (ended_at IS NOT NULL));

CREATE INDEX calls_roots_idx ON calls USING btree (project_id, started_at DESC, id) INCLUDE (parent_id, trace_id) WHERE (((parent_id IS NULL) OR is_orphan) AND (op_name IS NOT NULL) AND (deleted_at IS NULL));

CREATE INDEX calls_running_idx ON calls USING btree (project_id, started_at) WHERE (ended_at IS NULL);

CREATE INDEX calls_source_idx ON calls USING btree (project_id, started_at, id) WHERE (source <> 'production'::text);

CREATE INDEX calls_spans_idx ON calls USING btree (project_id, started_at, id) WHERE (operation IS NOT NULL);

CREATE INDEX calls_started_idx ON calls USING btree (project_id, started_at, id);

CREATE INDEX calls_startless_idx ON calls USING btree (logged_at, project_id, id) WHERE (op_name IS NULL);

CREATE INDEX calls_thread_idx ON calls USING btree (project_id, ((thread_id || ''::text))) WHERE ((thread_id || ''::text) IS NOT NULL);

CREATE INDEX calls_trace_idx ON calls USING btree (project_id, trace_id);

CREATE INDEX calls_turn_idx ON calls USING btree (project_id, ((turn_id || ''::text))) WHERE ((turn_id || ''::text) IS NOT NULL);

CREATE INDEX calls_turns_idx ON calls USING btree (project_id, thread_id, started_at, ended_at, id) WHERE ((id = turn_id) AND (thread_id <> ''::text) AND (op_name IS NOT NULL) AND (deleted_at IS NULL));

CREATE INDEX calls_turns_started_idx ON calls USING btree (project_id, started_at) INCLUDE (ended_at, thread_id, id) WHERE ((id = turn_id) AND (thread_id <> ''::text) AND (op_name IS NOT NULL) AND (deleted_at IS NULL) AND (started_at IS NOT NULL));

CREATE INDEX calls_unread_usage_idx ON calls USING btree (project_id, started_at, id) WHERE (has_unread_usage OR ((usage IS NOT NULL) AND (((usage -> 0) ->> 'reader'::text) IS DISTINCT FROM '1'::text)));

CREATE INDEX calls_user_idx ON calls USING btree (project_id, user_id);

CREATE INDEX console_sessions_checked_idx ON console_sessions USING btree (checked_at) WHERE (refresh_token IS NOT NULL);

CREATE INDEX console_sessions_expires_idx ON console_sessions USING btree (expires_at);

CREATE INDEX console_sessions_user_idx ON console_sessions USING btree (user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX costs_llm_idx ON costs USING btree (project_id, llm_id, effective_date, id);

CREATE INDEX dataset_row_sources_call_idx ON dataset_row_sources USING btree (project_id, call_id);

CREATE INDEX dataset_row_sources_erased_idx ON dataset_row_sources USING btree (project_id, object_id, row_digest, call_id) WHERE ((erased_at IS NOT NULL) AND (removed_at IS NULL));

CREATE INDEX erasings_ended_idx ON erasings USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX erasings_open_idx ON erasings USING btree (touched_at) WHERE (ended_at IS NULL);

CREATE INDEX exported_files_manifest_idx ON exported_files USING btree (project_id, schedule) WHERE (path = 'manifest.json'::text);

CREATE INDEX feedback_created_idx ON feedback USING btree (project_id, created_at, id);

CREATE INDEX feedback_ref_idx ON feedback USING btree (project_id, ref);

CREATE INDEX folded_spans_folded_idx ON folded_spans USING btree (folded_at);

CREATE INDEX idempotency_keys_created_idx ON idempotency_keys USING btree (created_at);

CREATE INDEX memberships_scope_idx ON memberships USING btree (scope, id);

CREATE UNIQUE INDEX memberships_subject_idx ON memberships USING btree (kind, issuer, subject, scope);

CREATE INDEX models_id_idx ON models USING btree (id);

CREATE UNIQUE INDEX models_name_idx ON models USING btree (project_id, name) WHERE (deleted_at IS NULL);

CREATE INDEX object_aliases_alias_idx ON object_aliases USING btree (project_id, alias);

CREATE INDEX object_tags_tag_idx ON object_tags USING btree (project_id, tag);

CREATE INDEX object_versions_created_idx ON object_versions USING btree (project_id, created_at, version_index, object_id) WHERE (deleted_at IS NULL);

CREATE INDEX object_versions_latest_created_idx ON object_versions USING btree (project_id, created_at, version_index, object_id) WHERE is_latest;

CREATE UNIQUE INDEX object_versions_latest_idx ON object_versions USING btree (project_id, object_id) WHERE is_latest;

CREATE UNIQUE INDEX object_versions_live_idx ON object_versions USING btree (project_id, object_id, digest) WHERE (deleted_at IS NULL);

CREATE INDEX threads_started_idx ON threads USING btree (project_id, start_time DESC, thread_id);

CREATE INDEX threads_turns_asc_idx ON threads USING btree (project_id, turn_count, thread_id);

CREATE INDEX threads_turns_idx ON threads USING btree (project_id, turn_count DESC, thread_id);

CREATE INDEX threads_updated_idx ON threads USING btree (project_id, last_updated DESC, thread_id);

CREATE INDEX training_data_id_idx ON training_data USING btree (id);

CREATE UNIQUE INDEX training_job_events_once_idx ON training_job_events USING btree (project_id, job_id, type) WHERE (type = ANY (ARRAY['training_started'::text, 'training_ended'::text, 'training_failed'::text]));

CREATE UNIQUE INDEX training_job_events_trainer_seq_idx ON training_job_events USING btree (project_id, job_id, attempt, trainer_seq);

CREATE INDEX training_jobs_id_idx ON training_jobs USING btree (id);

CREATE INDEX training_jobs_model_idx ON training_jobs USING btree (project_id, model_id, id);

CREATE UNIQUE INDEX training_jobs_one_running_idx ON training_jobs USING btree (project_id, model_id) WHERE (status = ANY (ARRAY['leased'::text, 'running'::text]));

CREATE INDEX training_jobs_parent_idx ON training_jobs USING btree (project_id, model_id, parent_step);

CREATE INDEX training_jobs_queue_idx ON training_jobs USING btree (created_at, id) WHERE (status = 'queued'::text);

CREATE INDEX trajectories_batch_idx ON trajectories USING btree (project_id, batch_id);

CREATE INDEX trajectory_batches_model_idx ON trajectory_batches USING btree (project_id, model_id);

CREATE UNIQUE INDEX users_account_idx ON users USING btree (issuer, subject);

CREATE INDEX users_email_idx ON users USING btree (email) WHERE email_verified;

CREATE OR REPLACE FUNCTION skein_compare(a text, b text)
 RETURNS integer
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
  RETURN coalesce(
    sign(skein_number(a) - skein_number(b))::integer,
    CASE WHEN a = b THEN 0 WHEN a COLLATE "C" < b THEN -1 WHEN a COLLATE "C" > b THEN 1 END);
END
$function$;

CREATE OR REPLACE FUNCTION skein_content_sha256(input text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
BEGIN
  RETURN encode(sha256(convert_to(input::jsonb::text, 'UTF8')), 'hex');
EXCEPTION WHEN others THEN
  RETURN encode(sha256(convert_to(input, 'UTF8')), 'hex');
END
$function$;

CREATE OR REPLACE FUNCTION skein_detailed_usage(usage json, counts_gross boolean)
 RETURNS TABLE(llm_id text, unknown_kinds integer, prompt_tokens bigint, completion_tokens bigint, cache_read_input_tokens bigint, cache_creation_input_tokens bigint, input_tokens bigint, details bigint[])
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN length(u.llm_id) > 256 THEN left(u.llm_id, 255) || '…' ELSE u.llm_id END COLLATE "C",
    coalesce(u.unknown_kinds, 0), p.tokens, coalesce(u.completion_tokens, 0), coalesce(u.cache_read_input_tokens, 0),
    coalesce(u.cache_creation_input_tokens, 0),
    p.tokens + coalesce(u.cache_read_input_tokens, 0) + coalesce(u.cache_creation_input_tokens, 0), u.details
  FROM json_to_recordset(usage) AS u (llm_id text, unknown_kinds integer, prompt_tokens bigint, gross_prompt_tokens bigint,
      completion_tokens bigint, cache_read_input_tokens bigint, cache_creation_input_tokens bigint, details bigint[])
    CROSS JOIN LATERAL (
      SELECT coalesce(CASE WHEN counts_gross THEN u.gross_prompt_tokens END, u.prompt_tokens, 0) AS tokens) p
$function$;

CREATE OR REPLACE FUNCTION skein_details_left(own bigint[], below bigint[], tokens bigint[], kinds integer[])
 RETURNS bigint[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
DECLARE
  found bigint[] := '{}';
  detail bigint;
BEGIN
  FOR i IN 1 .. array_length(kinds, 1) LOOP
    detail := least(greatest(coalesce(own[i], 0) - coalesce(below[i], 0), 0), tokens[kinds[i]]);
    tokens[kinds[i]] := tokens[kinds[i]] - detail;
    found := found || detail;
  END LOOP;
  RETURN CASE WHEN 0 <> ANY (found) THEN found END;
END
$function$;

CREATE OR REPLACE FUNCTION skein_is_like_json(input text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT strpos(input, '"') > 0 AND left(ltrim(input, E' \n\r\t'), 1) || right(rtrim(input, E' \n\r\t'), 1) IN ('{}', '[]', '""')
$function$;

CREATE OR REPLACE FUNCTION skein_is_trial(op_name text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT strpos(op_name, 'Evaluation.predict_and_score') > 0 OR strpos(op_name, 'Evaluation.predictAndScore') > 0
$function$;

CREATE OR REPLACE FUNCTION skein_json_at(document json, is_opaque boolean, path text[])
 RETURNS json
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
DECLARE
  step text;
BEGIN
  IF is_opaque THEN
    document := skein_safe_json(document);
  END IF;
  IF EXISTS (SELECT FROM unnest(path) s WHERE s ~ '^\s*[-+]\d+$|^\s+\d+$') THEN
    FOREACH step IN ARRAY path LOOP
      document := CASE WHEN step ~ '^\s*[-+]\d+$|^\s+\d+$' THEN document -> step ELSE document #> ARRAY[step] END;
    END LOOP;
    RETURN document;
  END IF;
  RETURN document #> path;
END
$function$;

CREATE OR REPLACE FUNCTION skein_keep_held()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  hold text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1752132708, hashtext(OLD.project_id));
  SELECT h.name INTO hold FROM legal_holds h
  WHERE h.project_id = OLD.project_id AND (num_nulls(h.trace_id, h.thread_id) = 2 OR h.trace_id = OLD.trace_id
    OR EXISTS (SELECT FROM calls c WHERE c.project_id = OLD.project_id AND c.trace_id = OLD.trace_id
      AND (c.thread_id || '') = h.thread_id))
  ORDER BY h.name LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'a legal hold keeps this call' USING ERRCODE = '22SKH', DETAIL = hold;
  END IF;
  RETURN NEW;
END
$function$;

CREATE OR REPLACE FUNCTION skein_kind_at(document json, is_opaque boolean, path text[])
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
  RETURN json_typeof(skein_json_at(document, is_opaque, path));
END
$function$;

CREATE OR REPLACE FUNCTION skein_logged(known jsonb, coming jsonb, max_count integer, max_bytes integer)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE
    WHEN known IS NULL THEN coming
    WHEN u.count = jsonb_array_length(known) OR u.count > max_count OR u.bytes > max_bytes THEN known
    ELSE u.said END
  FROM (
    SELECT jsonb_agg(e) AS said, count(*) AS count, sum(octet_length(e ->> 'value')) AS bytes
    FROM (SELECT DISTINCT e FROM jsonb_array_elements(known || coming) e) e) u
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_annotation_progress()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, 0 AS rows, sum(0) AS bytes, sum(pg_column_size(written)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_annotation_queue_items()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(0) AS bytes, sum(pg_column_size(written)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(0) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_annotation_queues()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(0) AS bytes, sum(0) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(0) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_body_chunks()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, 0 AS rows, sum(0) AS bytes, sum(octet_length(text)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_build_chunks()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(octet_length(text)) AS bytes, sum(octet_length(text)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(octet_length(text)) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_build_inputs()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, 0 AS rows, sum(0) AS bytes, sum(pg_column_size(written)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_build_units()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, 0 AS rows, sum(0) AS bytes, sum(pg_column_size(written)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_builds()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(0) AS bytes, sum(pg_column_size(written)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(0) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_checkpoint_chunks()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, 0 AS rows, sum(0) AS bytes, sum(octet_length(bytes)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_checkpoint_parts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(size_bytes) AS bytes, sum(0) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(size_bytes) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_costs()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(0) AS bytes, sum(0) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(0) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_dataset_import_rows()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, 0 AS rows, sum(0) AS bytes, sum(octet_length(val::text)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_dataset_row_sources()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(0) AS bytes, sum(pg_column_size(written)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(0) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_export_schedules()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(0) AS bytes, sum(0) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(0) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_feedback()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(octet_length(payload::text)) AS bytes, sum(octet_length(payload::text)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(octet_length(payload::text)) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSE
    FOR mark IN SELECT project_id, sum(n) AS rows, sum(size) AS bytes, sum(added) AS written_bytes FROM (
        SELECT project_id, 1 AS n, octet_length(payload::text) AS size, octet_length(payload::text) AS added FROM written
        UNION ALL SELECT project_id, -1, -(octet_length(payload::text)), 0 FROM replaced) t
      GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_file_chunks()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, 0 AS rows, sum(0) AS bytes, sum(octet_length(bytes)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_files()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(size_bytes) AS bytes, sum(0) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(size_bytes) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_models()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(0) AS bytes, sum(0) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(0) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_object_versions()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(size_bytes) AS bytes, sum(size_bytes) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(size_bytes) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_table_rows()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(octet_length(val::text)) AS bytes, sum(octet_length(val::text)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(octet_length(val::text)) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_tables()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(octet_length(row_digests)) AS bytes, sum(octet_length(row_digests)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(octet_length(row_digests)) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_training_data()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(size_bytes) AS bytes, sum(size_bytes) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(size_bytes) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_training_job_events()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, 0 AS rows, sum(0) AS bytes, sum(pg_column_size(written)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_trajectories()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, 0 AS rows, sum(0) AS bytes, sum(pg_column_size(written)) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_project_trajectory_batches()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, count(*) AS rows, sum(body_bytes) AS bytes, sum(0) AS written_bytes
      FROM written GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, -count(*) AS rows, -sum(body_bytes) AS bytes, 0 AS written_bytes
      FROM replaced GROUP BY 1 LOOP
      INSERT INTO project_marks (project_id, row_count, call_count, bytes, written_bytes)
      VALUES (mark.project_id, mark.rows, 0, mark.bytes, mark.written_bytes);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_scored_call(project text, ref text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  start timestamptz;
BEGIN
  IF split_part(ref, '/', 6) <> 'call' THEN
    RETURN;
  END IF;
  PERFORM FROM export_schedules s WHERE s.project_id = project AND s.kind = 'calls' LIMIT 1;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT c.started_at INTO start FROM calls c WHERE c.project_id = project AND c.id = split_part(ref, '/', 7);
  IF start IS NOT NULL THEN
    INSERT INTO call_slot_marks (project_id, slot, call_count) VALUES (project, date_bin('5 minutes', start, 'epoch'), 0);
  END IF;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_scores()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM skein_mark_scored_call(OLD.project_id, OLD.ref);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM skein_mark_scored_call(NEW.project_id, NEW.ref);
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_slots()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR mark IN SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, count(*) AS calls,
      sum(coalesce(pg_column_size(attributes), 0) + coalesce(pg_column_size(inputs), 0) + coalesce(pg_column_size(output), 0)
        + coalesce(pg_column_size(summary), 0) + coalesce(pg_column_size(otel_dump), 0)) AS bytes,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT response_id) FILTER (WHERE response_id IS NOT NULL) AS responses, array_agg(id) AS ids
    FROM written WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL GROUP BY 1, 2 LOOP
      INSERT INTO call_slot_marks (project_id, slot, call_count, bytes, parent_ids, response_ids)
      VALUES (mark.project_id, mark.slot, mark.calls, mark.bytes, mark.parents, mark.responses);
      INSERT INTO call_text_marks (project_id, slot, call_ids, is_erasing) VALUES (mark.project_id, mark.slot, mark.ids, mark.bytes < 0);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR mark IN SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, -count(*) AS calls,
      -sum(coalesce(pg_column_size(attributes), 0) + coalesce(pg_column_size(inputs), 0) + coalesce(pg_column_size(output), 0)
        + coalesce(pg_column_size(summary), 0) + coalesce(pg_column_size(otel_dump), 0)) AS bytes,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT response_id) FILTER (WHERE response_id IS NOT NULL) AS responses, array_agg(id) AS ids
    FROM replaced WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL GROUP BY 1, 2 LOOP
      INSERT INTO call_slot_marks (project_id, slot, call_count, bytes, parent_ids, response_ids)
      VALUES (mark.project_id, mark.slot, mark.calls, mark.bytes, mark.parents, mark.responses);
      INSERT INTO call_text_marks (project_id, slot, call_ids, is_erasing) VALUES (mark.project_id, mark.slot, mark.ids, mark.bytes < 0);
    END LOOP;
  ELSIF EXISTS (SELECT FROM written) THEN -- an upsert that replaced nothing comes here too
    FOR mark IN SELECT project_id, slot, sum(change) AS calls, sum(change * size) AS bytes,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT response_id) FILTER (WHERE response_id IS NOT NULL) AS responses, array_agg(DISTINCT id) AS ids FROM (
        SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, 1 AS change, id, parent_id, response_id,
          coalesce(pg_column_size(attributes), 0) + coalesce(pg_column_size(inputs), 0) + coalesce(pg_column_size(output), 0)
          + coalesce(pg_column_size(summary), 0) + coalesce(pg_column_size(otel_dump), 0) AS size
        FROM written WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL
        UNION ALL SELECT project_id, date_bin('5 minutes', started_at, 'epoch') AS slot, -1, id, parent_id, response_id,
          coalesce(pg_column_size(attributes), 0) + coalesce(pg_column_size(inputs), 0) + coalesce(pg_column_size(output), 0)
          + coalesce(pg_column_size(summary), 0) + coalesce(pg_column_size(otel_dump), 0)
        FROM replaced WHERE op_name IS NOT NULL AND deleted_at IS NULL AND started_at IS NOT NULL) t
      GROUP BY 1, 2 LOOP
      INSERT INTO call_slot_marks (project_id, slot, call_count, bytes, parent_ids, response_ids)
      VALUES (mark.project_id, mark.slot, mark.calls, mark.bytes, mark.parents, mark.responses);
      INSERT INTO call_text_marks (project_id, slot, call_ids, is_erasing) VALUES (mark.project_id, mark.slot, mark.ids, mark.bytes < 0);
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_thread()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP <> 'DELETE' AND NEW.id = NEW.turn_id AND NEW.thread_id <> '' THEN
    INSERT INTO thread_marks (project_id, thread_id) VALUES (NEW.project_id, NEW.thread_id);
  END IF;
  IF TG_OP <> 'INSERT' AND OLD.id = OLD.turn_id AND OLD.thread_id <> ''
    AND (OLD.project_id, OLD.id, OLD.turn_id, OLD.thread_id)
      IS DISTINCT FROM (NEW.project_id, NEW.id, NEW.turn_id, NEW.thread_id) THEN
    INSERT INTO thread_marks (project_id, thread_id) VALUES (OLD.project_id, OLD.thread_id);
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_mark_trials()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  mark record;
BEGIN
  IF TG_OP <> 'UPDATE' THEN -- `changed` are the rows that came or went
    FOR mark IN SELECT project_id,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(id) FILTER (WHERE skein_is_trial(op_name)) AS trials,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL AND skein_is_trial(op_name)) AS above,
      array_agg(id) FILTER (WHERE strpos(op_name, 'Evaluation.evaluate') > 0) AS runs
    FROM changed WHERE op_name IS NOT NULL AND deleted_at IS NULL
      AND (parent_id IS NOT NULL OR strpos(op_name, 'Evaluation.') > 0) GROUP BY 1 LOOP
      INSERT INTO trial_marks (project_id, call_ids, run_ids)
      VALUES (mark.project_id, coalesce(mark.parents || mark.trials, '{}'), coalesce(mark.above || mark.runs, '{}'));
    END LOOP;
  ELSIF EXISTS (SELECT FROM written) THEN -- an upsert that replaced nothing comes here too
    FOR mark IN SELECT project_id,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL) AS parents,
      array_agg(DISTINCT id) FILTER (WHERE skein_is_trial(op_name)) AS trials,
      array_agg(DISTINCT parent_id) FILTER (WHERE parent_id IS NOT NULL AND skein_is_trial(op_name)) AS above,
      array_agg(DISTINCT id) FILTER (WHERE strpos(op_name, 'Evaluation.evaluate') > 0) AS runs
    FROM (
        SELECT project_id, id, parent_id, op_name FROM written WHERE op_name IS NOT NULL AND deleted_at IS NULL
        UNION ALL SELECT project_id, id, parent_id, op_name FROM replaced WHERE op_name IS NOT NULL AND deleted_at IS NULL) t
    WHERE parent_id IS NOT NULL OR strpos(op_name, 'Evaluation.') > 0 GROUP BY 1 LOOP
      INSERT INTO trial_marks (project_id, call_ids, run_ids)
      VALUES (mark.project_id, coalesce(mark.parents || mark.trials, '{}'), coalesce(mark.above || mark.runs, '{}'));
    END LOOP;
  END IF;
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION skein_named(value json)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN json_typeof(value) = 'string' AND octet_length(value::text) <= 2048 THEN
    regexp_match(value #>> '{}', '^(?:svc|weave):///([^/]+/[^/]+)/(?:object|op)/([^/:]+):([^/:]+)$') END
$function$;

CREATE OR REPLACE FUNCTION skein_number(input text)
 RETURNS numeric
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
  RETURN CASE WHEN length(input) <= 400 AND input ~ '^-?[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]{1,3})?$' THEN input::numeric END;
END
$function$;

CREATE OR REPLACE FUNCTION skein_refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '% is never edited', TG_TABLE_NAME;
END
$function$;

CREATE OR REPLACE FUNCTION skein_safe_json(document json)
 RETURNS json
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT regexp_replace(regexp_replace(regexp_replace(document::text,
    '(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})', '\1\\p\2\3', 'g'),
    '(?<!\\)((?:\\\\)*)\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1\\ufffd', 'g'),
    '(?<!\\)((?:\\\\)*)\\p([0-9a-fA-F]{4})([0-9a-fA-F]{4})', '\1\\u\2\\u\3', 'g')::json
$function$;

CREATE OR REPLACE FUNCTION skein_says(input text, kind text, needle text, is_folded boolean, capitals text, letters text, depth integer DEFAULT 0)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
DECLARE
  is_spelled boolean := kind IN ('object', 'array', 'json') AND strpos(input, '\') > 0;
  is_short boolean := octet_length(needle) <= 64; -- strpos may compare the whole needle at each place, and nothing interrupts it
  said text := input;
  place int;
BEGIN
  IF is_spelled AND is_short AND strpos(needle, '\') = 0 THEN
    place := strpos(CASE WHEN is_folded THEN translate(lower(input COLLATE "C"), capitals, letters) ELSE input END, needle);
    IF place > 1 AND substr(input, place - 1, 1) !~ '[\\u0-9a-fA-F]' THEN -- it cannot begin inside an escape
      RETURN true;
    END IF;
  END IF;
  IF is_spelled THEN
    said := skein_unescaped(input, kind <> 'json');
  END IF;
  IF is_folded THEN
    said := translate(lower(said COLLATE "C"), capitals, letters);
  END IF;
  IF (CASE WHEN is_short THEN strpos(said, needle) > 0 ELSE said COLLATE "C" ~ ('***=' || needle) END) THEN
    RETURN true;
  END IF;
  IF NOT is_spelled THEN
    RETURN kind = 'string' AND strpos(input, '\') > 0 AND skein_is_like_json(input)
      AND skein_says(input, 'json', needle, is_folded, capitals, letters, depth + 1);
  END IF;
  IF depth >= 8 OR strpos(input, '\"') = 0 AND strpos(input, 'u0022') = 0 THEN
    RETURN false;
  END IF;
  FOR said IN
    SELECT skein_unescaped(substr(m[1], 2, length(m[1]) - 2), kind <> 'json')
    FROM regexp_matches(input, '"(?:\s|\\[nrt]|\\u00(?:20|0[9aAdD]))*(?:[\[{]|\\"|\\u00(?:22|[57][bB]))(?:[^"\\]|\\.)*"', 'g') m
  LOOP
    IF skein_is_like_json(said) AND skein_says(said, 'json', needle, is_folded, capitals, letters, depth + 1) THEN
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
END
$function$;

CREATE OR REPLACE FUNCTION skein_text_at(document json, is_opaque boolean, path text[], most integer)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
  IF is_opaque OR EXISTS (SELECT FROM unnest(path) s WHERE s ~ '^\s*[-+]\d+$|^\s+\d+$') THEN
    document := skein_json_at(document, is_opaque, path);
    path := '{}';
  END IF;
  RETURN skein_within(document #>> path, most);
END
$function$;

CREATE OR REPLACE FUNCTION skein_texts_at(document json, is_opaque boolean, paths json, most integer)
 RETURNS text[]
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
DECLARE
  -- each as the text of an array, since an array of arrays would need them to have one length
  steps text[] := ARRAY(SELECT ARRAY(SELECT json_array_elements_text(path))::text FROM json_array_elements(paths) path);
BEGIN
  IF is_opaque THEN
    document := skein_safe_json(document);
  END IF;
  RETURN ARRAY(
    WITH RECURSIVE parts AS (
      SELECT document AS node, ARRAY(SELECT generate_subscripts(steps, 1)) AS places, 0 AS depth
      UNION ALL
      SELECT next.node, next.places, p.depth + 1
      FROM parts p CROSS JOIN LATERAL (
        WITH ways AS (
          SELECT (steps[place]::text[])[p.depth + 1] AS step, array_agg(place) AS places, count(*) OVER () AS count
          FROM unnest(p.places) place WHERE cardinality(steps[place]::text[]) > p.depth GROUP BY 1
        )
        SELECT CASE WHEN step ~ '^\s*[-+]\d+$|^\s+\d+$' THEN p.node -> step ELSE p.node #> ARRAY[step] END AS node, places
        FROM ways WHERE count = 1 OR json_typeof(p.node) <> 'object'
        UNION ALL (
          SELECT DISTINCT ON (w.step) m.value, w.places
          FROM json_each(CASE WHEN json_typeof(p.node) = 'object' AND (SELECT count(*) > 1 FROM ways) THEN p.node END)
            WITH ORDINALITY m (key, value, place) JOIN ways w ON w.step = m.key
          ORDER BY w.step, m.place DESC
        )
      ) next
      WHERE cardinality(p.places) > 1
    ), found AS (
      SELECT place, skein_text_at(p.node, false, (steps[place]::text[])[p.depth + 1:], most) AS value
      FROM parts p CROSS JOIN LATERAL unnest(p.places) place
      WHERE cardinality(p.places) = 1 OR cardinality(steps[place]::text[]) = p.depth
    )
    SELECT found.value FROM generate_subscripts(steps, 1) place LEFT JOIN found USING (place) ORDER BY place);
END
$function$;

CREATE OR REPLACE FUNCTION skein_threaded(project text, traces text[])
 RETURNS SETOF text
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE
 SET enable_sort TO 'off'
AS $function$
BEGIN
  RETURN QUERY SELECT t.id FROM unnest(traces) t (id) CROSS JOIN LATERAL (
    SELECT FROM calls c WHERE c.project_id = project AND c.trace_id >= t.id AND c.trace_id <= t.id
      AND num_nulls(c.parent_id, c.thread_id) = 0 AND num_nulls(c.thread_source, c.otel_dump) < 2 AND c.deleted_at IS NULL
    ORDER BY c.trace_id LIMIT 1) c;
END
$function$;

CREATE OR REPLACE FUNCTION skein_time(input text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE
AS $function$
BEGIN
  RETURN CASE
    WHEN input !~ '^(?!0000)(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?(?:Z|[-+](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)?)?$' THEN skein_time(skein_number(input))
    WHEN length(input) = 10 THEN (input || 'T00:00Z')::timestamptz
    WHEN substring(input FROM 11) ~ '[-+Z]' THEN input::timestamptz
    ELSE (input || 'Z')::timestamptz
  END;
END
$function$;

CREATE OR REPLACE FUNCTION skein_time(seconds numeric)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
  RETURN CASE
    WHEN seconds < -62135596800 THEN '-infinity'::timestamptz
    WHEN seconds >= 253402300800 THEN 'infinity'::timestamptz
    ELSE to_timestamp(round(seconds, 6)::float8)
  END;
END
$function$;

CREATE OR REPLACE FUNCTION skein_trace(project text, call text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE STRICT
 SET enable_sort TO 'off'
AS $function$
BEGIN
  RETURN (
    SELECT c.trace_id FROM calls c WHERE c.project_id = project AND c.id >= call AND c.id <= call ORDER BY c.id LIMIT 1);
END
$function$;

CREATE OR REPLACE FUNCTION skein_traces(project text, calls text[], parents text[], new_traces text[])
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE
 SET enable_sort TO 'off'
AS $function$
BEGIN
  RETURN ARRAY(SELECT CASE WHEN w.new_trace IS NOT NULL THEN coalesce(
      (SELECT c.trace_id FROM calls c WHERE c.project_id = project AND c.id >= w.id AND c.id <= w.id ORDER BY c.id LIMIT 1),
      (SELECT c.trace_id FROM calls c WHERE c.project_id = project AND c.id >= w.parent_id AND c.id <= w.parent_id ORDER BY c.id LIMIT 1)) END
    FROM unnest(calls, parents, new_traces) w (id, parent_id, new_trace));
END
$function$;

CREATE OR REPLACE FUNCTION skein_unescaped(input text, is_json boolean)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
DECLARE
  said text := replace(input, '\\', '\u005c');
BEGIN
  IF NOT is_json THEN
    said := regexp_replace(said, '\\(?!["/bfnrt]|u[0-9a-fA-F]{4})', '\\u005c', 'g');
    said := regexp_replace(said, '[\x01-\x08\x0b\x0c\x0e-\x1f]', ' ', 'g');
  END IF;
  said := replace(replace(replace(said, '\"', '\u0022'), '"', '\"'), E'\n', '\n');
  said := '"' || replace(replace(said, E'\r', '\r'), E'\t', '\t') || '"';
  IF NOT is_json AND said ~ '\\u(?:0000|[dD][89a-fA-F])' THEN
    RETURN skein_safe_json(said::json) #>> '{}';
  END IF;
  RETURN said::json #>> '{}';
END
$function$;

CREATE OR REPLACE FUNCTION skein_url_encoded(input text, kept text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN input ~ '^[A-Za-z0-9_.~-]*$' THEN input ELSE (
    SELECT string_agg(CASE WHEN t.letter ~ '^[A-Za-z0-9_.~-]$' OR strpos(kept, t.letter) > 0 THEN t.letter
        ELSE regexp_replace(upper(encode(convert_to(t.letter, 'UTF8'), 'hex')), '(..)', '%\1', 'g') END, '' ORDER BY t.place)
    FROM regexp_split_to_table(input, '') WITH ORDINALITY t (letter, place)) END
$function$;

CREATE OR REPLACE FUNCTION skein_usage(usage json, counts_gross boolean)
 RETURNS TABLE(llm_id text, unknown_kinds integer, prompt_tokens bigint, completion_tokens bigint, cache_read_input_tokens bigint, cache_creation_input_tokens bigint, input_tokens bigint)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT u.llm_id, u.unknown_kinds, u.prompt_tokens, u.completion_tokens, u.cache_read_input_tokens, u.cache_creation_input_tokens,
    u.input_tokens
  FROM skein_detailed_usage(usage, counts_gross) u
$function$;

CREATE OR REPLACE FUNCTION skein_wire_time(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$function$;

CREATE OR REPLACE FUNCTION skein_with_logged(own json, logged jsonb, trace text, side text)
 RETURNS json
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  WITH own_keys AS (
    SELECT json_object_keys(CASE WHEN json_typeof(own) = 'object' THEN skein_safe_json(own) ELSE '{}' END) AS key
  ), said AS (
    SELECT l.member, l.is_part,
      CASE WHEN l.is_part
        THEN '[' || string_agg(l.value, ',' ORDER BY l.at, l.place, l.value) || ']'
        ELSE (array_agg(l.value ORDER BY l.at DESC, l.place DESC, l.value DESC))[1] END AS value
    FROM jsonb_to_recordset(logged) AS l (
      trace_id text, side text, member text COLLATE "C", is_part boolean, at text COLLATE "C", place int, value text COLLATE "C")
    WHERE l.trace_id = $3 AND l.side = $4
    GROUP BY l.member, l.is_part
  ), added AS (
    SELECT string_agg(to_json(m.member)::text || ':' || m.value, ',' ORDER BY m.member) AS members
    FROM (SELECT DISTINCT ON (member) member, value FROM said ORDER BY member, is_part) m
    WHERE m.member NOT IN (SELECT key FROM own_keys)
  )
  SELECT CASE
    WHEN added.members IS NULL OR json_typeof(own) <> 'object' THEN own
    ELSE (coalesce(left(rtrim(own::text, E' \t\r\n'), -1), '{')
      || CASE WHEN EXISTS (SELECT FROM own_keys) THEN ',' ELSE '' END || added.members || '}')::json END
  FROM added
$function$;

CREATE OR REPLACE FUNCTION skein_within(input text, most integer)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
  IF octet_length(input) > most THEN
    RAISE EXCEPTION 'a value has more than % bytes', most USING ERRCODE = 'SK413', DETAIL = most;
  END IF;
  RETURN input;
END
$function$;

CREATE TRIGGER annotation_progress_mark_project_insert AFTER INSERT ON annotation_progress REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_annotation_progress();

CREATE TRIGGER annotation_queue_items_mark_project_delete AFTER DELETE ON annotation_queue_items REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_annotation_queue_items();

CREATE TRIGGER annotation_queue_items_mark_project_insert AFTER INSERT ON annotation_queue_items REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_annotation_queue_items();

CREATE TRIGGER annotation_queues_mark_project_delete AFTER DELETE ON annotation_queues REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_annotation_queues();

CREATE TRIGGER annotation_queues_mark_project_insert AFTER INSERT ON annotation_queues REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_annotation_queues();

CREATE TRIGGER audit_events_never_edited BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION skein_refuse_change();

CREATE TRIGGER body_chunks_mark_project_insert AFTER INSERT ON body_chunks REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_body_chunks();

CREATE TRIGGER build_chunks_mark_project_delete AFTER DELETE ON build_chunks REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_build_chunks();

CREATE TRIGGER build_chunks_mark_project_insert AFTER INSERT ON build_chunks REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_build_chunks();

CREATE TRIGGER build_inputs_mark_project_insert AFTER INSERT ON build_inputs REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_build_inputs();

CREATE TRIGGER build_units_mark_project_insert AFTER INSERT ON build_units REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_build_units();

CREATE TRIGGER builds_mark_project_delete AFTER DELETE ON builds REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_builds();

CREATE TRIGGER builds_mark_project_insert AFTER INSERT ON builds REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_builds();

CREATE TRIGGER calls_keep_held BEFORE UPDATE OF op_name ON calls FOR EACH ROW WHEN (((old.op_name IS NOT NULL) AND ((old.trace_id IS DISTINCT FROM new.trace_id) OR ((old.thread_id IS DISTINCT FROM new.thread_id) AND (old.thread_id <> ''::text) AND (COALESCE(old.thread_source, ''::text) = ''::text) AND ((old.ended_at IS NOT NULL) OR (new.otel_dump IS NULL))) OR ((old.ended_at IS NOT NULL) AND (new.event_times IS NULL) AND ((NULLIF((COALESCE(old.own_inputs, old.inputs))::text, '{}'::text) <> COALESCE((COALESCE(new.own_inputs, new.inputs))::text, ''::text)) OR (NULLIF((COALESCE(old.own_output, old.output))::text, 'null'::text) <> COALESCE((COALESCE(new.own_output, new.output))::text, ''::text))))))) EXECUTE FUNCTION skein_keep_held();

CREATE TRIGGER calls_mark_deleted AFTER DELETE ON calls FOR EACH ROW WHEN (((old.id = old.turn_id) AND (old.thread_id <> ''::text) AND (old.op_name IS NOT NULL) AND (old.deleted_at IS NULL))) EXECUTE FUNCTION skein_mark_thread();

CREATE TRIGGER calls_mark_inserted AFTER INSERT ON calls FOR EACH ROW WHEN (((new.id = new.turn_id) AND (new.thread_id <> ''::text) AND (new.op_name IS NOT NULL) AND (new.deleted_at IS NULL))) EXECUTE FUNCTION skein_mark_thread();

CREATE TRIGGER calls_mark_slots_deleted AFTER DELETE ON calls REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_slots();

CREATE TRIGGER calls_mark_slots_inserted AFTER INSERT ON calls REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_slots();

CREATE TRIGGER calls_mark_slots_updated AFTER UPDATE ON calls REFERENCING OLD TABLE AS replaced NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_slots();

CREATE TRIGGER calls_mark_trials_deleted AFTER DELETE ON calls REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_trials();

CREATE TRIGGER calls_mark_trials_inserted AFTER INSERT ON calls REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_trials();

CREATE TRIGGER calls_mark_trials_updated AFTER UPDATE ON calls REFERENCING OLD TABLE AS replaced NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_trials();

CREATE TRIGGER calls_mark_updated AFTER UPDATE ON calls FOR EACH ROW WHEN (((((old.id = old.turn_id) AND (old.thread_id <> ''::text)) OR ((new.id = new.turn_id) AND (new.thread_id <> ''::text))) AND ((((((((old.project_id IS DISTINCT FROM new.project_id) OR (old.id IS DISTINCT FROM new.id)) OR (old.turn_id IS DISTINCT FROM new.turn_id)) OR (old.thread_id IS DISTINCT FROM new.thread_id)) OR ((old.op_name IS NULL) IS DISTINCT FROM (new.op_name IS NULL))) OR ((old.deleted_at IS NULL) IS DISTINCT FROM (new.deleted_at IS NULL))) OR (old.started_at IS DISTINCT FROM new.started_at)) OR (old.ended_at IS DISTINCT FROM new.ended_at)))) EXECUTE FUNCTION skein_mark_thread();

CREATE TRIGGER checkpoint_chunks_mark_project_insert AFTER INSERT ON checkpoint_chunks REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_checkpoint_chunks();

CREATE TRIGGER checkpoint_parts_mark_project_delete AFTER DELETE ON checkpoint_parts REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_checkpoint_parts();

CREATE TRIGGER checkpoint_parts_mark_project_insert AFTER INSERT ON checkpoint_parts REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_checkpoint_parts();

CREATE TRIGGER costs_mark_project_delete AFTER DELETE ON costs REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_costs();

CREATE TRIGGER costs_mark_project_insert AFTER INSERT ON costs REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_costs();

CREATE TRIGGER dataset_import_rows_mark_project_insert AFTER INSERT ON dataset_import_rows REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_dataset_import_rows();

CREATE TRIGGER dataset_row_sources_mark_project_delete AFTER DELETE ON dataset_row_sources REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_dataset_row_sources();

CREATE TRIGGER dataset_row_sources_mark_project_insert AFTER INSERT ON dataset_row_sources REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_dataset_row_sources();

CREATE TRIGGER export_schedules_mark_project_delete AFTER DELETE ON export_schedules REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_export_schedules();

CREATE TRIGGER export_schedules_mark_project_insert AFTER INSERT ON export_schedules REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_export_schedules();

CREATE TRIGGER feedback_mark_project_delete AFTER DELETE ON feedback REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_feedback();

CREATE TRIGGER feedback_mark_project_insert AFTER INSERT ON feedback REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_feedback();

CREATE TRIGGER feedback_mark_project_update AFTER UPDATE ON feedback REFERENCING OLD TABLE AS replaced NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_feedback();

CREATE TRIGGER feedback_mark_scores AFTER INSERT OR DELETE OR UPDATE ON feedback FOR EACH ROW EXECUTE FUNCTION skein_mark_scores();

CREATE TRIGGER file_chunks_mark_project_insert AFTER INSERT ON file_chunks REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_file_chunks();

CREATE TRIGGER files_mark_project_delete AFTER DELETE ON files REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_files();

CREATE TRIGGER files_mark_project_insert AFTER INSERT ON files REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_files();

CREATE TRIGGER models_mark_project_delete AFTER DELETE ON models REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_models();

CREATE TRIGGER models_mark_project_insert AFTER INSERT ON models REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_models();

CREATE TRIGGER object_versions_mark_project_delete AFTER DELETE ON object_versions REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_object_versions();

CREATE TRIGGER object_versions_mark_project_insert AFTER INSERT ON object_versions REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_object_versions();

CREATE TRIGGER table_rows_mark_project_delete AFTER DELETE ON table_rows REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_table_rows();

CREATE TRIGGER table_rows_mark_project_insert AFTER INSERT ON table_rows REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_table_rows();

CREATE TRIGGER tables_mark_project_delete AFTER DELETE ON tables REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_tables();

CREATE TRIGGER tables_mark_project_insert AFTER INSERT ON tables REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_tables();

CREATE TRIGGER training_data_mark_project_delete AFTER DELETE ON training_data REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_training_data();

CREATE TRIGGER training_data_mark_project_insert AFTER INSERT ON training_data REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_training_data();

CREATE TRIGGER training_job_events_mark_project_insert AFTER INSERT ON training_job_events REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_training_job_events();

CREATE TRIGGER trajectories_mark_project_insert AFTER INSERT ON trajectories REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_trajectories();

CREATE TRIGGER trajectory_batches_mark_project_delete AFTER DELETE ON trajectory_batches REFERENCING OLD TABLE AS replaced FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_trajectory_batches();

CREATE TRIGGER trajectory_batches_mark_project_insert AFTER INSERT ON trajectory_batches REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION skein_mark_project_trajectory_batches();
