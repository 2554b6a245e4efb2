import { type Answer, basic, send, type TestApp } from './app.js';
import { aStart, anEnd } from './factories.js';
import { OPERATIONS } from './operations.js';
import { aChoice, groupsOf, previewOf } from './preview.js';
import { aRecipe, publish, record } from './rollouts.js';

/** A project with data of every kind. */
export interface Planted {
  project: string;
  /** A text in everything that can contain a client's text, and in nothing of another project. */
  marker: string;
  /** `callId` is the same in every planted project, `ownCallId` exists in this one only. */
  callId: string;
  ownCallId: string;
  traceId: string;
  objectDigest: string;
  tableDigest: string;
  rowDigest: string;
  fileDigest: string;
  model: string;
  checkpoint: string;
  /** A running job, and its lease. */
  job: string;
  lease: string;
  event: string;
  /** A recipe that selects a rollout with the marker, and a build of it. */
  recipeRef: string;
  build: string;
}

export const OBJECT = 'thing';
/** An object whose `field_schema` refuses `REFUSED_VALUE`. */
export const SCHEMA_OBJECT = 'score';
export const REFUSED_VALUE = 'no number';

/** Ends in a dot, so that the marker of `acme/demo` is no part of the marker of `acme/demo2`. */
const markerOf = (project: string) => `planted.${project.replace('/', '-')}.`;

export const refOf = (project: string, rest: string) => `svc:///${project}/${rest}`;

export const aFileForm = (project: string, content: string) => {
  const form = new FormData();
  form.append('project_id', project);
  form.append('file', new Blob([content]), 'blob');
  return form;
};

const fileContentOf = ({ marker }: Pick<Planted, 'marker'>) => `bytes of ${marker}`;

export const aPrice = { prompt_token_cost: 1, completion_token_cost: 2 };

export const groupsWith = (content: string) =>
  groupsOf([{ messages_and_choices: [{ role: 'user', content }, aChoice()], reward: 1 }]);

/**
 * Stores the same names and ids in each project, so that a statement without its project finds rows of a neighbour.
 * An older build may not have all routes.
 */
export async function plant(
  app: TestApp,
  project: string,
  has: (route: string) => boolean = () => true,
): Promise<Planted> {
  const marker = markerOf(project);
  const post = async (path: string, body: unknown) => done(await app.post(path, body));
  const ownCallId = `call of ${project.replace('/', '-')}`;
  const traceId = `trace.${marker}`;
  for (const id of ['call', ownCallId]) {
    const start = { project_id: project, id, thread_id: marker, turn_id: id, trace_id: traceId };
    await post('/call/start', { start: aStart({ ...start, inputs: { marker } }) });
    const summary = { usage: { [marker]: { prompt_tokens: 1, completion_tokens: 1 } } };
    await post('/call/end', { end: anEnd({ project_id: project, id, summary }) });
    await post('/feedback/create', {
      project_id: project,
      id: `feedback of ${id}`,
      svc_ref: refOf(project, `call/${id}`),
      feedback_type: 'custom',
      payload: { marker },
    });
  }
  const message = {
    traceId: 'a'.repeat(32),
    spanId: 'a'.repeat(16),
    eventName: 'gen_ai.user.message',
    body: { kvlistValue: { values: [{ key: 'content', value: { stringValue: marker } }] } },
  };
  const logs = { resourceLogs: [{ scopeLogs: [{ logRecords: [message] }] }] };
  done(await app.post('/otel/v1/logs', logs, { headers: { project_id: project } }));
  await post('/cost/create', { project_id: project, costs: { [marker]: aPrice } });
  const field_schema = { type: 'number', description: marker };
  const schema = { project_id: project, object_id: SCHEMA_OBJECT, val: { field_schema } };
  await post('/obj/create', { obj: schema });
  const table = await post('/table/create', { table: { project_id: project, rows: [{ marker }] } });
  const tableRef = refOf(project, `table/${table.digest}`);
  const object = { project_id: project, object_id: OBJECT, val: { marker, rows: tableRef } };
  const { digest: objectDigest } = await post('/obj/create', { obj: object });
  const label = async (path: string, body: object) =>
    done(
      await send(
        `${app.url}/objs/${OBJECT}/${path}`,
        { project_id: project, ...body },
        { authorization: basic(app.key) },
        'PUT',
      ),
    );
  await label('aliases', { digest: objectDigest, aliases: [marker] });
  await label(`versions/${objectDigest}/tags`, { tags: [marker] });
  const form = new Response(aFileForm(project, fileContentOf({ marker })));
  const file = done(
    await send(`${app.url}/file/create`, new Uint8Array(await form.arrayBuffer()), {
      authorization: basic(app.key),
      'content-type': form.headers.get('content-type')!,
    }),
  );
  await post('/keys/create', { user: marker, role: 'reader', scopes: [project] });
  const planted: Planted = {
    project,
    marker,
    callId: 'call',
    ownCallId,
    traceId,
    objectDigest,
    tableDigest: table.digest,
    rowDigest: table.row_digests[0],
    fileDigest: file.digest,
    ...(await plantTraining(app, project, marker)),
    ...(await plantBuild(app, project, marker)),
  };
  for (const [route, operation] of Object.entries(OPERATIONS))
    if (has(route)) await operation.plant?.(planted, app);
  return planted;
}

async function plantBuild(app: TestApp, project: string, marker: string) {
  const id = `rollout.${marker}`;
  const messages = [{ role: 'user', content: marker }];
  await record(app, [{ id, task: marker, asks: [{ messages }], score: 1 }], project);
  const recipe = aRecipe({
    description: marker, // makes the digest differ from that of other projects
    select: { filter: { op_names: ['rollout'] } },
    group: { min: 1 },
  });
  const recipeRef = await publish(app, recipe, { project });
  const body = { project_id: project, recipe_ref: recipeRef, mode: 'all' };
  const { build_id } = done(await app.post('/build/create', body));
  return { recipeRef, build: build_id as string };
}

async function plantTraining(app: TestApp, project: string, marker: string) {
  const model = await aModelOf(app, project, marker);
  const preview = previewOf(app);
  const logged = { split: marker, trajectory_groups: groupsWith(marker) };
  done(await preview.call('POST', `/models/${model.id}/log`, logged));
  const { job, lease } = await aLeasedJob(app, model, marker);
  const events = [
    { seq: 0, type: 'training_started', data: { num_sequences: 1 } },
    { seq: 1, type: 'gradient_step', data: { [marker]: 1 } },
  ];
  done(await preview.call('POST', `/trainer/jobs/${job}/events`, { events }, preview.lease(lease)));
  const [checkpoint] = await preview.checkpoints(model.id);
  const [event] = await preview.events(job);
  return { model: model.id, checkpoint: checkpoint.id, job, lease, event: event.id };
}

export interface Model {
  id: string;
  /** A base model that no other model has, so that a claim gets only jobs of this one. */
  base: string;
}

let models = 0;

/** Makes a model with a new name that begins with `name`. */
export async function aModelOf(app: TestApp, projectId: string, name: string): Promise<Model> {
  const [entity, project] = projectId.split('/');
  const n = ++models;
  const base = `base ${n}`;
  const body = { entity, project, name: `${name} ${n}`, base_model: base };
  return { id: done(await previewOf(app).call('POST', '/models', body)).id, base };
}

/** Queues a job with the text in its trajectories and its settings. */
export async function aQueuedJob(app: TestApp, { id }: Model, text = ''): Promise<string> {
  const body = {
    model_id: id,
    trajectory_groups: groupsWith(text),
    experimental_config: { note: text },
  };
  return done(await previewOf(app).call('POST', '/training-jobs', body)).id;
}

/** Claims a new job and returns it with its lease token. */
export async function aLeasedJob(app: TestApp, model: Model, text = '') {
  const job = await aQueuedJob(app, model, text);
  const claimed = done(await previewOf(app).claim({ base_models: [model.base] }));
  return { job, lease: claimed.lease_token as string };
}

function done({ status, text, body }: Answer): any {
  if (status !== 200) throw new Error(`planting failed: ${status} ${text}`);
  return body;
}

/**
 * A digest of each table, of one project or of all. It leaves out tables that change in the background: statistics of
 * threads and calls, the index of texts, kept trials, and files of exports. The same holds for the audit (which notes
 * uses of keys), uses of projects, the list of processes, and retention's clock.
 */
export async function contents(app: TestApp, project?: string): Promise<Record<string, string>> {
  const tables = await app.query<{ name: string }>(`
    SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND NOT starts_with(table_name, 'citus_') AND table_name NOT IN ('threads', 'thread_marks', 'call_slots', 'call_slot_models', 'call_slot_marks', 'call_text_marks', 'call_text_segments', 'call_text_parts', 'call_text_ids', 'kept_trials', 'trial_marks', 'projects', 'project_marks', 'audit_events', 'gateway_processes', 'project_uses', 'retention_clock', 'exported_files')
    GROUP BY table_name HAVING ${project ? `'project_id' = ANY(array_agg(column_name::text))` : 'TRUE'}`);
  const hashes = tables.map(
    ({ name }) => `(SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM "${name}" t
      WHERE ${project ? 'project_id = $1' : 'TRUE'}) AS "${name}"`,
  );
  const [row] = await app.query(`SELECT ${hashes.join(', ')}`, project ? [project] : []);
  return row;
}
