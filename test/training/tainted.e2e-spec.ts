import { useApp } from '../support/app.js';
import { aModelOf, aLeasedJob } from '../support/planted.js';
import { linesOfGzip, manifestFile, previewOf } from '../support/preview.js';
import { record } from '../support/rollouts.js';
import { aPairOf, trainingOf } from '../support/trained.js';
import { until } from '../support/until.js';

const app = useApp({ RETENTION_INTERVAL_SECONDS: '1' });

let projects = 0;
const ids = (list: { id: string }[]) => list.map(({ id }) => id);

/** Makes a model in a new project, with requests about it. */
async function aModel() {
  const project = `acme/tainted-${++projects}`;
  const training = trainingOf(app, project);
  const model_id = await training.aModel('m');
  return {
    project,
    model_id,
    ...training,
    tainted: (body: object = {}) => training.post('/lineage/tainted', body),
    retrain: (step: number) =>
      app.post('/lineage/retrain', { project_id: project, model_id, step }),
    promote: (step: number) => training.post('/models/promote', { model_id, step, by_hand: true }),
    aliases: () => training.post('/models/aliases/query', { model_id }),
    checkpoints: async () =>
      (await previewOf(app).checkpoints(model_id)).map(({ step, tainted_at }) => [
        step,
        tainted_at !== undefined,
      ]),
  };
}

describe('calls that are purged', () => {
  it('mark what was trained on them, and all that stands on it; aliases are retired', async () => {
    const { model_id, trained, purge, tainted, promote, aliases, post, checkpoints } =
      await aModel();
    await trained(model_id, [...aPairOf('a'), ...aPairOf('b')]);
    const rollouts = [...aPairOf('c'), ...aPairOf('d')];
    const two = await trained(model_id, rollouts);
    const three = await trained(model_id, [...aPairOf('e'), ...aPairOf('f')]);
    await promote(1);
    await promote(3);
    const purged = [rollouts[0]!.id];

    const asked = await tainted({ call_ids: purged });
    expect(asked).toMatchObject({
      builds: [{ id: two.build_id, tainted_at: null, erased_at: null }],
      jobs: [
        { id: two.job_id, step: 2, parent_step: 1, tainted_at: null },
        { id: three.job_id, step: 3, parent_step: 2, tainted_at: null },
      ],
      checkpoints: [
        { model: 'm', model_id, step: 2, aliases: [], tainted_at: null },
        { model: 'm', model_id, step: 3, aliases: ['current'], tainted_at: null },
      ],
      has_more: false,
    });
    expect(await tainted()).toEqual({ builds: [], jobs: [], checkpoints: [], has_more: false });

    await purge(purged);
    const marked = await tainted();
    expect(ids(marked.builds)).toEqual([two.build_id]);
    expect(ids(marked.jobs)).toEqual([two.job_id, three.job_id]);
    expect(marked.checkpoints.map(({ step, aliases: names }: any) => [step, names])).toEqual([
      [2, []],
      [3, []],
    ]);
    for (const { tainted_at } of [...marked.builds, ...marked.jobs, ...marked.checkpoints])
      expect(Date.parse(tainted_at)).toBeGreaterThan(Date.now() - 60_000);
    expect(await checkpoints()).toEqual([
      [0, false],
      [1, false],
      [2, true],
      [3, true],
    ]);

    const { aliases: now, history } = await aliases();
    expect(now).toEqual([]);
    expect(history[0]).toMatchObject({
      step: null,
      previous_step: 3,
      moved_by: 'ada',
      by_hand: false,
      reason: 'calls that it was trained on were purged',
    });
    const audit = await post('/audit/query', { filter: { actions: ['models.retire'] } });
    expect(audit.events).toMatchObject([
      { target: model_id, user: 'ada', detail: { alias: 'current', previous_step: 3 } },
    ]);
    await promote(1); // a checkpoint that is not tainted can be promoted

    const { edges } = await post('/lineage/query', { model_id, step: 2 });
    const nodes = edges.flatMap(({ from, to }: any) => [from, to]);
    const of = (type: string) => nodes.filter((node: any) => node.type === type);
    expect(
      [...of('build'), ...of('job'), ...of('checkpoint')].every((n: any) => n.tainted_at),
    ).toBe(true);
    const clean = await post('/lineage/query', { model_id, step: 1 });
    expect(JSON.stringify(clean)).not.toContain('tainted_at');
  });

  it('mark also where they were deleted before, which marks nothing itself', async () => {
    const { model_id, trained, purge, tainted, post, checkpoints } = await aModel();
    const rollouts = aPairOf('a');
    await trained(model_id, rollouts);
    const call_ids = [rollouts[0]!.id];
    await post('/calls/delete', { call_ids });
    expect((await checkpoints())[1]).toEqual([1, false]);
    expect(await tainted()).toMatchObject({ builds: [], checkpoints: [] });
    await purge(call_ids);
    expect((await checkpoints())[1]).toEqual([1, true]);
  });

  it('mark by a filter and by a time too; retention marks nothing', async () => {
    const { project, model_id, trained, tainted, post } = await aModel();
    await trained(model_id, aPairOf('a'));
    const second = aPairOf('b');
    await trained(model_id, second);
    await post('/retention/set', { calls_days: null, payload_days: 1 });
    await until(async () => {
      const [row] = await app.query(
        'SELECT count(*)::int AS left FROM builds WHERE project_id = $1 AND erased_at IS NULL',
        [project],
      );
      return row.left === 0;
    });
    expect((await tainted()).builds).toEqual([]);
    const marked = async () => (await tainted()).checkpoints.map(({ step }: any) => step);
    await post('/calls/purge', { filter: { call_ids: [`${second[0]!.id}.0`] } });
    expect(await marked()).toEqual([2]);
    await post('/calls/purge', { before: '2030-01-01T00:00:00Z' });
    expect(await marked()).toEqual([1, 2]);
  });

  it('are found before by the user that attributes name, with the traces of their calls', async () => {
    const { project, model_id, submitted, tainted } = await aModel();
    const by = (user: string) => (rollout: any) => ({
      ...rollout,
      root: { ...rollout.root, attributes: { task_id: rollout.task, user_id: user } },
    });
    const mine = await submitted(model_id, aPairOf('a').map(by('eve')));
    await submitted(model_id, aPairOf('b').map(by('bob')));
    const found = await tainted({ user_id: 'eve' });
    expect([ids(found.builds), ids(found.jobs)]).toEqual([[mine.build_id], [mine.job_id]]);
    expect((await tainted({ user_id: 'nobody' })).builds).toEqual([]);
    const both = await app.post('/lineage/tainted', {
      project_id: project,
      user_id: 'eve',
      call_ids: ['x'],
    });
    expect([both.status, both.body.code]).toEqual([400, 'invalid_request']);
  });

  it('taint the checkpoint of a job that a trainer holds, though it goes on to the end', async () => {
    const { model_id, submitted, claimed, purge, tainted, checkpoints, trained, promote } =
      await aModel();
    const first = aPairOf('a');
    await trained(model_id, first);
    const own = aPairOf('b');
    const { job_id } = await submitted(model_id, own);
    const held = await claimed();
    await purge([own[0]!.id]);
    expect((await previewOf(app).job(job_id)).cancel_requested).toBe(true);
    await held.finish();
    expect(await checkpoints()).toEqual([
      [0, false],
      [1, false],
      [2, true],
    ]);
    // the next job starts from a clean step, and becomes tainted only because its parent does while the job runs
    await submitted(model_id, aPairOf('c'));
    const next = await claimed();
    expect(next.parent.step).toBe(1);
    await promote(1);
    await purge([first[0]!.id]);
    expect(ids((await tainted()).jobs)).toContain(next.job_id);
    await next.finish();
    expect(await checkpoints()).toEqual([
      [0, false],
      [1, true],
      [2, true],
      [3, true],
    ]);
    await submitted(model_id, aPairOf('d'));
    expect((await claimed()).parent).toMatchObject({ step: 0, files: [], uri: null });
  });

  it('race with a trainer who completes: the checkpoint is tainted in every order', async () => {
    const races = Array.from({ length: 6 }, async () => {
      const { model_id, submitted, claimed, purge, checkpoints } = await aModel();
      const rollouts = aPairOf('a');
      await submitted(model_id, rollouts);
      const held = await claimed();
      await Promise.all([held.finish(), purge([rollouts[0]!.id])]);
      return checkpoints();
    });
    for (const seen of await Promise.all(races))
      expect(seen).toEqual([
        [0, false],
        [1, true],
      ]);
  });

  it('leave the state of an attempt behind that began from a tainted checkpoint', async () => {
    const { model_id, submitted, claimed, purge, trained } = await aModel();
    const { call, lease, trainer } = previewOf(app);
    const first = aPairOf('a');
    await trained(model_id, first);
    await submitted(model_id, aPairOf('b'));
    const held = await claimed();
    const bytes = Buffer.from('weights');
    const { part } = previewOf(app);
    const sent = await part(held.job_id, held.lease, bytes);
    expect(sent.status).toBe(200);
    const state = await call(
      'POST',
      `/trainer/jobs/${held.job_id}/state`,
      { files: [manifestFile('s', bytes)] },
      lease(held.lease),
    );
    expect(state.status).toBe(200);
    await trainer(held.job_id, held.lease, 'fail', { error_message: 'x', retryable: true });
    await purge([first[0]!.id]);
    const again = await claimed();
    expect([again.job_id, again.parent.step]).toEqual([held.job_id, 0]);
    const [row] = await app.query('SELECT state, tainted_at FROM training_jobs WHERE id = $1', [
      held.job_id,
    ]);
    expect(row).toEqual({ state: null, tainted_at: null });
  });
});

describe('/lineage/retrain', () => {
  it('queues what led to the checkpoint, without the purged calls, from the clean ancestor on', async () => {
    const { project, model_id, trained, purge, retrain, claimed, post, checkpoints } =
      await aModel();
    await trained(model_id, [...aPairOf('a'), ...aPairOf('b')]);
    const rollouts = [...aPairOf('c'), ...aPairOf('d')];
    const two = await trained(model_id, rollouts);
    const three = await trained(model_id, aPairOf('e'));
    // a retraining ignores calls recorded later, even if the recipe selects them
    await record(app, aPairOf('d'), project);
    await purge(ids(rollouts.slice(0, 2)));

    const { status, body } = await retrain(3);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      from_step: 1,
      has_more: false,
      jobs: [
        { retrains_job_id: two.job_id, retrains_step: 2, outcome: 'queued' },
        { retrains_job_id: three.job_id, retrains_step: 3, outcome: 'queued' },
      ],
    });
    // repeated requests, also in parallel, queue nothing more
    const again = await Promise.all([retrain(3), retrain(3)]);
    for (const { body: known } of again)
      expect(known.jobs.map(({ outcome, job_id }: any) => [outcome, job_id])).toEqual(
        body.jobs.map(({ job_id }: any) => ['known', job_id]),
      );

    const first = await claimed();
    expect([first.job_id, first.parent.step]).toEqual([body.jobs[0].job_id, 1]);
    const payload = linesOfGzip(await previewOf(app).payload(first.job_id, first.lease)).join();
    for (const { id } of rollouts.slice(0, 2)) expect(payload).not.toContain(id);
    for (const { id } of rollouts.slice(2)) expect(payload).toContain(id);
    expect(payload.match(/"unit_id"/g)).toHaveLength(2);
    expect(await first.finish()).toMatchObject({ step: 4 });
    const second = await claimed();
    expect([second.job_id, second.parent.step]).toEqual([body.jobs[1].job_id, 4]);
    await second.finish();
    expect(await checkpoints()).toEqual([
      [0, false],
      [1, false],
      [2, true],
      [3, true],
      [4, false],
      [5, false],
    ]);
    expect((await retrain(3)).body.jobs.map(({ outcome }: any) => outcome)).toEqual([
      'known',
      'known',
    ]);
    const audit = await post('/audit/query', { filter: { actions: ['models.retrain'] } });
    expect(audit.events).toMatchObject([{ target: model_id, detail: { step: 3, from_step: 1 } }]);
  });

  it('says where nothing is left, and queues a job anew that failed', async () => {
    const { model_id, trained, purge, retrain, claimed } = await aModel();
    const gone = aPairOf('a');
    await trained(model_id, gone);
    await trained(model_id, aPairOf('b'));
    await purge(ids(gone));
    const { body } = await retrain(2);
    expect(body.from_step).toBe(0);
    expect(body.jobs.map(({ outcome }: any) => outcome)).toEqual(['nothing_left', 'queued']);
    const { job_id, lease } = await claimed();
    const failure = { error_message: 'x', retryable: false };
    await previewOf(app).trainer(job_id, lease, 'fail', failure);
    const again = (await retrain(2)).body.jobs;
    expect(again.map(({ outcome }: any) => outcome)).toEqual(['nothing_left', 'queued']);
    expect(again[1].job_id).not.toBe(job_id);
  });

  it('queues one job when it is asked twice at once', async () => {
    const { project, model_id, trained, purge, retrain } = await aModel();
    const rollouts = [...aPairOf('a'), ...aPairOf('b')];
    await trained(model_id, rollouts);
    await purge(ids(rollouts.slice(0, 2)));
    const answers = await Promise.all([retrain(1), retrain(1), retrain(1)]);
    expect(new Set(answers.map(({ body }) => body.jobs[0].job_id)).size).toBe(1);
    const jobs = await app.query(
      `SELECT id FROM training_jobs WHERE project_id = $1 AND status = 'queued'`,
      [project],
    );
    expect(jobs).toHaveLength(1);
  });

  it('does not train again by groups what was trained on the conversations of a build', async () => {
    const { model_id, trained, purge, retrain } = await aModel();
    const rollouts = aPairOf('a');
    const { build_id, job_id } = await trained(model_id, rollouts);
    const preview = previewOf(app);
    const training_data_url = `skein:///builds/${build_id}`;
    const sft = await preview.call('POST', '/sft-training-jobs', { model_id, training_data_url });
    expect([sft.status, sft.text]).toEqual([200, sft.text]);
    const { body: job } = await preview.claim({ kinds: ['sft'] });
    expect(job).toMatchObject({ job_id: sft.body.id, kind: 'sft' });
    await preview.start(job.job_id, job.lease_token);
    await preview.complete(job.job_id, job.lease_token);
    await purge([rollouts[0]!.id]);
    const { status, body } = await retrain(2);
    expect([status, body.detail]).toEqual([409, expect.stringContaining(sft.body.id)]);
    expect(body.detail).not.toContain(job_id);
    expect((await retrain(1)).status).toBe(200);
  });

  it('refuses a step that is not tainted, or whose groups came without a recipe', async () => {
    const { project, model_id, trained, purge, retrain, claimed } = await aModel();
    const rollouts = aPairOf('a');
    await trained(model_id, rollouts);
    expect((await retrain(1)).body.detail).toContain('step 1 of the model was not trained on');
    expect((await retrain(9)).status).toBe(409);
    const job = await previewOf(app).aJob(model_id);
    await (await claimed()).finish();
    await purge([rollouts[0]!.id]);
    const { status, body } = await retrain(2);
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect(body.detail).toContain(`step 2 was made by the job ${job}`);
    const queued = await app.query(
      `SELECT 1 FROM training_jobs WHERE project_id = $1 AND status = 'queued'`,
      [project],
    );
    expect(queued).toEqual([]);
  });

  it('reaches no other project', async () => {
    const mine = await aModel();
    const theirs = await aModel();
    const rollouts = aPairOf('a');
    const { job_id } = await theirs.trained(theirs.model_id, rollouts);
    const key = await app.aKey('writer', [mine.project]);
    const body = { model_id: theirs.model_id, step: 1 };
    const crossed = { project_id: mine.project, ...body };
    expect((await app.post('/lineage/retrain', crossed, { key })).status).toBe(404);
    expect((await app.post('/lineage/retrain', crossed)).status).toBe(404);
    const named = { project_id: theirs.project, ...body };
    expect((await app.post('/lineage/retrain', named, { key })).status).toBe(403);
    const asked = { project_id: mine.project, call_ids: ids(rollouts) };
    const answer = await app.post('/lineage/tainted', asked, { key });
    expect([answer.status, answer.text.includes(job_id)]).toEqual([200, false]);
    // calls with the same ids in another project taint nothing here
    await record(app, rollouts, mine.project);
    await mine.purge(ids(rollouts));
    expect((await theirs.tainted()).builds).toEqual([]);
  });
});

describe('the parent of a job under way', () => {
  it('is not deleted, though it is not the newest checkpoint', async () => {
    const { model_id, trained, purge, submitted, claimed } = await aModel();
    await trained(model_id, aPairOf('a'));
    const rollouts = aPairOf('b');
    await trained(model_id, rollouts);
    await purge([rollouts[0]!.id]);
    await submitted(model_id, aPairOf('c'));
    const held = await claimed();
    expect(held.parent.step).toBe(1);
    const remove = (steps: number[]) =>
      previewOf(app).call('DELETE', `/models/${model_id}/checkpoints`, { steps });
    expect((await remove([0, 1])).body).toEqual({ deleted_count: 1, not_found_steps: [1] });
    await held.finish();
    expect((await remove([1])).body.deleted_count).toBe(1);
  });

  it('is as it was for models that nobody purged', async () => {
    const model = await aModelOf(app, 'acme/tainted-plain', 'plain');
    const { job, lease } = await aLeasedJob(app, model);
    await previewOf(app).start(job, lease);
    expect((await previewOf(app).complete(job, lease)).body).toMatchObject({ step: 1 });
  });
});
