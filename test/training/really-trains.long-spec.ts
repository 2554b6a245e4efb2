import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { send, startApp, type TestApp } from '../support/app.js';
import { aTrajectory, groupsOf, type Preview, previewOf, sha256Of } from '../support/preview.js';
import { aRecipe, assistant, publish, record, user } from '../support/rollouts.js';
import { aFolder, watched } from '../support/server.js';
import { until } from '../support/until.js';

/** A Python with torch, transformers and peft: SKEIN_TRAINER_PYTHON, or `python3` of the path. */
const python = process.env['SKEIN_TRAINER_PYTHON'] ?? 'python3';
const has = (...modules: string[]) =>
  spawnSync(python, [
    '-c',
    `import importlib.util as u, sys; sys.exit(not all(u.find_spec(m) for m in ${JSON.stringify(modules)}))`,
  ]).status === 0;
const isThere = has('torch', 'transformers', 'peft');

if (!isThere)
  it.skip(`the trainer needs torch, transformers and peft: none in ${python} (SKEIN_TRAINER_PYTHON names another)`, () => {});
else
  describe('skein-train', () => {
    let app: TestApp;
    let preview: Preview;
    let env: Record<string, string>;
    const folder = aFolder();
    const base = join(folder.path, 'base');
    const running = new Set<ReturnType<typeof watched>>();
    /** Rollouts of the base model, made by the learner. */
    let groups: object[];
    beforeAll(async () => {
      app = await startApp({
        TRAINER_LEASE_SECONDS: '4',
        TRAINER_HEARTBEAT_SECONDS: '1',
        TRAINER_MAX_ATTEMPTS: '10',
      });
      preview = previewOf(app);
      env = {
        HOME: folder.path,
        PYTHONPATH: 'trainer',
        PYTHONUNBUFFERED: '1',
        OMP_NUM_THREADS: '1',
        HF_HUB_OFFLINE: '1',
        SKEIN_URL: app.url,
        SKEIN_API_KEY: await app.aKey('trainer'),
      };
      groups = await learner('--groups');
    });
    afterAll(async () => {
      for (const { process: trainer } of running) trainer.kill('SIGKILL');
      await app.close();
      folder.remove();
    });

    /** Runs the learner and returns the JSON that it prints. */
    async function learner(...args: string[]): Promise<any> {
      const child = spawn(python, ['trainer/tests/learner.py', '--base', base, ...args], {
        env: { PATH: process.env['PATH']!, ...env, SKEIN_API_KEY: app.key },
      });
      const [printed, said] = [child.stdout, child.stderr].map((stream) => {
        const chunks: string[] = [];
        stream.on('data', (chunk) => chunks.push(String(chunk)));
        return chunks;
      });
      const code = await new Promise((resolve) => child.on('close', resolve));
      if (code !== 0) throw new Error(said!.join(''));
      return JSON.parse(printed!.join(''));
    }
    const OPTIONS = [
      '--base',
      base,
      '--base-model',
      'tiny',
      '--threads',
      '1',
      '--work',
      folder.path,
    ];
    function aTrainer(...more: string[]) {
      const trainer = watched(python, ['-m', 'skein_trainer', ...OPTIONS, ...more], env);
      running.add(trainer);
      void trainer.exit.then(() => running.delete(trainer));
      return trainer;
    }
    const aModel = () => preview.aModel({ base_model: 'tiny' });
    const submit = async (
      model_id: string,
      experimental_config: object,
      trajectory_groups = groups,
    ) =>
      (
        await preview.call('POST', '/training-jobs', {
          model_id,
          trajectory_groups,
          experimental_config,
        })
      ).body.id as string;
    const statusOf = async (job: string) => (await preview.job(job)).status;
    const hasEnded = async (job: string) => ['succeeded', 'failed'].includes(await statusOf(job));
    const checkpointOf = async (model: string, step = 1) =>
      (await preview.call('GET', `/models/${model}/checkpoints/${step}`)).body;
    const digestsOf = ({ files }: any) =>
      Object.fromEntries(files.map(({ name, sha256 }: any) => [name, sha256]));

    it('learns what is rewarded, and nothing of shuffled rewards; the first ratio is exactly 1', async () => {
      const trainer = aTrainer();
      const [model, other] = [await aModel(), await aModel()];
      const rounds = await learner('--model', model, '--rounds', '18');
      const shuffled = await learner('--model', other, '--rounds', '18', '--shuffle');
      trainer.process.kill('SIGTERM');
      expect(await trainer.exit).toBe(0);
      const rewards = rounds.map(({ reward }: any) => reward);
      expect(rewards[0]).toBeLessThan(0.4);
      expect(rewards.at(-1)).toBeGreaterThanOrEqual(0.9);
      expect(shuffled.at(-1).reward).toBeLessThan(0.5);
      for (const [step, round] of [...rounds.entries(), ...shuffled.entries()]) {
        expect(round).toMatchObject({ step, steps: [{ ratio: 1, off_policy: 0 }] });
      }
    });

    it('killed in the middle goes on from its state: the job ends once, with the same weights', async () => {
      const config = {
        loss_fn: 'ppo',
        truncated_importance_sampling: 2,
        learning_rate: 0.005,
        batch_size: 8,
        num_epochs: 5,
      };
      const [whole, killed] = [await aModel(), await aModel()];
      const quiet = await submit(whole, config);
      await aTrainer('--once').exit;
      expect(await statusOf(quiet)).toBe('succeeded');
      const numSteps = (await preview.events(quiet)).filter(
        ({ type }) => type === 'gradient_step',
      ).length;
      expect(numSteps).toBeGreaterThan(20);

      const job = await submit(killed, config);
      const stepsOfState = async () => {
        const [row] = await app.query(`SELECT state FROM training_jobs WHERE id = $1`, [job]);
        return row.state === null ? null : JSON.stringify(row.state);
      };
      for (let kill = 0; kill < 2; kill++) {
        const before = await stepsOfState();
        const trainer = aTrainer('--state-seconds', '0');
        await until(async () => ![null, before].includes(await stepsOfState()));
        trainer.process.kill('SIGKILL');
        await trainer.exit;
        expect(await hasEnded(job)).toBe(false);
      }
      const last = aTrainer('--state-seconds', '0', '--once', '--wait', '30');
      await last.exit;
      expect(last.output()).toContain('attempt 3');
      expect(await preview.job(job)).toMatchObject({ status: 'succeeded', attempt: 3 });
      const types = (await preview.events(job)).map(({ type }) => type);
      expect(types.filter((type) => type === 'training_started')).toHaveLength(1);
      expect(types.filter((type) => /ended|failed/.test(type))).toEqual(['training_ended']);
      expect(types.filter((type) => type === 'gradient_step').length).toBeLessThan(numSteps - 1);
      expect((await preview.checkpoints(killed)).map(({ step }) => step)).toEqual([0, 1]);
      const [a, b] = [digestsOf(await checkpointOf(whole)), digestsOf(await checkpointOf(killed))];
      expect(b).toEqual(a);
      expect(Object.keys(a)).toEqual(
        expect.arrayContaining([
          'adapter_config.json',
          'adapter_model.safetensors',
          'optimizer.safetensors',
        ]),
      );
      // only files that the checkpoint names are left
      const [{ files }] = await app.query(
        `SELECT count(DISTINCT file)::int AS files FROM checkpoint_parts WHERE job_id = $1`,
        [job],
      );
      expect(files).toBe(new Set(Object.values(a)).size);
    });

    it('trains on conversations: those of a build, then those of a file on top', async () => {
      const project = 'acme/talks';
      const talks = ['a?012', 'b?klm', 'c?abc'].map((text) => [text.slice(0, 2), text.slice(2)]);
      const rollouts = [...talks, ['d?', 'bad']].map(([asked, content], i) => ({
        id: content!,
        task: content!,
        second: i,
        score: content === 'bad' ? 0 : 1,
        asks: [{ messages: [user(asked!)], content: content! }],
      }));
      await record(app, rollouts, project);
      const reward = { ...aRecipe().reward, threshold: 0.5 };
      const recipe_ref = await publish(app, aRecipe({ purpose: 'sft', reward }), { project });
      const built = { project_id: project, recipe_ref, mode: 'all', accept: ['duplicate'] };
      const { build_id } = (await app.post('/build/create', built)).body;
      const asked = [user('a?'), assistant('000', { weight: 0 }), user('b?'), assistant('9')];
      const rows = [...talks.map(([q, a]) => [user(q!), assistant(a!)]), asked];
      const { body: data } = await send(
        `${app.url}/v1/preview/training-data?entity=acme&project=talks`,
        rows.map((messages) => JSON.stringify({ messages })).join('\n'),
        { authorization: `Bearer ${app.key}`, 'content-type': 'application/jsonl' },
      );

      const model_id = await preview.aModel({ project: 'talks', base_model: 'tiny' });
      const trainer = aTrainer();
      const train = async (training_data_url: string, num_epochs: number) => {
        const { body } = await preview.call('POST', '/sft-training-jobs', {
          model_id,
          training_data_url,
          config: { batch_size: 1, learning_rate: 0.01 },
          experimental_config: { num_epochs },
        });
        await until(() => hasEnded(body.id));
        const events = await preview.events(body.id);
        const steps = events.filter(({ type }) => type === 'gradient_step').map(({ data }) => data);
        return { events, steps, job: await preview.job(body.id) };
      };
      const first = await train(`skein:///builds/${build_id}`, 4);
      const second = await train(data.url, 1);
      trainer.process.kill('SIGTERM');
      expect(await trainer.exit).toBe(0);

      for (const [i, { events, steps, job }] of [first, second].entries()) {
        expect(job).toMatchObject({ kind: 'sft', status: 'succeeded', attempt: 1 });
        expect(events[0]).toMatchObject({ data: { num_sequences: steps.length } });
        expect(events.map(({ type }) => type)).toEqual([
          'training_started',
          ...steps.map(() => 'gradient_step'),
          'training_ended',
        ]);
        const checkpoint = await checkpointOf(model_id, i + 1);
        expect(checkpoint.config).toMatchObject({ format: 'peft', loss: 'sft' });
        expect(Object.keys(digestsOf(checkpoint))).toContain('adapter_model.safetensors');
        for (const { name, size_bytes, sha256 } of checkpoint.files) {
          const path = `/models/${model_id}/checkpoints/${i + 1}/file?name=${name}`;
          const file = await fetch(`${app.url}/v1/preview${path}`, {
            headers: { authorization: `Bearer ${app.key}` },
          });
          const bytes = Buffer.from(await file.arrayBuffer());
          expect([bytes.length, sha256Of(bytes)]).toEqual([size_bytes, sha256]);
        }
      }
      // three letters and the end token of an answer; bad answers and those of weight 0 are not trained
      const tokensOf = (steps: any[]) => steps.map(({ num_trained_tokens: n }) => n);
      expect(tokensOf(first.steps)).toEqual(Array(12).fill(4));
      expect(tokensOf(second.steps)).toEqual([4, 4, 4, 2]);
      // the second job continues the training of the first
      const losses = [first.steps[0], first.steps.at(-3), second.steps[0]].map(({ loss }) => loss);
      expect(losses).toEqual(losses.toSorted((a, b) => b - a));
      expect(losses[2]).toBeLessThan(losses[0] / 2);
    });

    it('ends a job without a signal, and says why', async () => {
      const model = await aModel();
      const equal = groupsOf([aTrajectory(), aTrajectory()], [aTrajectory()]);
      const job = await submit(model, {}, equal);
      await aTrainer('--once').exit;
      expect(await preview.job(job)).toMatchObject({
        status: 'succeeded',
        made_step: false,
        no_step_reason: 'the rewards do not differ in any group',
      });
      expect(await preview.checkpoints(model)).toHaveLength(1);
    });

    it('fails a job whose config it cannot follow, naming the member', async () => {
      const job = await submit(await aModel(), { loss_fn: 'magic' });
      await aTrainer('--once').exit;
      expect(await preview.job(job)).toMatchObject({
        status: 'failed',
        attempt: 1,
        error_message: expect.stringContaining('loss_fn'),
      });
    });

    it('trains on two ranks what it trains on one', async () => {
      const config = { loss_fn: 'grpo', learning_rate: 0.005, packed_sequence_length: 64 };
      const lossOf = async (...command: string[]) => {
        const job = await submit(await aModel(), config);
        const trainer = watched(
          python,
          [...command, '-m', 'skein_trainer', ...OPTIONS, '--once'],
          env,
        );
        running.add(trainer);
        expect([await trainer.exit, trainer.output()]).toEqual([
          0,
          expect.stringContaining('made step 1'),
        ]);
        const events = await preview.events(job);
        return events.find(({ type }) => type === 'gradient_step').data;
      };
      const one = await lossOf();
      const two = await lossOf(
        '-m',
        'torch.distributed.run',
        '--standalone',
        '--nproc-per-node',
        '2',
      );
      for (const name of ['loss', 'grad_norm', 'ratio', 'kl'])
        expect(two[name]).toBeCloseTo(one[name], 5);
    });

    it('passes its own tests, and the checks of ruff and pyright where they are installed', async () => {
      const check = async (...args: string[]) => {
        const ran = watched(python, ['-m', ...args], { HOME: folder.path, OMP_NUM_THREADS: '1' });
        const code = await ran.exit;
        expect([code, ran.output()]).toEqual([0, expect.anything()]);
      };
      if (has('pytest')) await check('pytest', '-q', '-p', 'no:cacheprovider', 'trainer');
      if (has('ruff')) {
        await check('ruff', 'check', '--no-cache', 'trainer');
        await check('ruff', 'format', '--check', '--no-cache', 'trainer');
      }
    });
  });
