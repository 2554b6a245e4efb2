import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { send, startApp, type TestApp } from '../support/app.js';
import { type Preview, previewOf } from '../support/preview.js';
import { aRecipe, feedbackOf, publish } from '../support/rollouts.js';
import { aFolder, freePort, type Run, watched } from '../support/server.js';
import { until } from '../support/until.js';

/** A Python with torch, transformers and peft: SKEIN_TRAINER_PYTHON, or `python3` of the path. */
const python = process.env['SKEIN_TRAINER_PYTHON'] ?? 'python3';
const isThere = spawnSync(python, ['-c', 'import torch, transformers, peft']).status === 0;

/** The correct letters for each prompt, about a fourth of all letters. */
const WANTED = { 'a?': '0123456789', 'b?': 'klmnopqrst', 'c?': 'abcdefghij', 'd?': 'uvwxyz?: ' };
const [ANSWERS, LENGTH, ROUNDS] = [16, 3, 18];
const PROJECT = 'acme/loop';
const BASE = 'tiny-base';

if (!isThere)
  it.skip(`the loop needs torch, transformers and peft: none in ${python} (SKEIN_TRAINER_PYTHON names another)`, () => {});
else
  describe('gateway → calls → build → job → LoRA → gateway', () => {
    let app: TestApp;
    let preview: Preview;
    let key: string;
    const folder = aFolder();
    const programs: Run[] = [];
    beforeAll(async () => {
      const port = await freePort();
      app = await startApp({
        GATEWAY_PROVIDERS: JSON.stringify([
          { name: 'engine', base_url: `http://127.0.0.1:${port}/v1`, engine: 'vllm' },
        ]),
      });
      preview = previewOf(app);
      key = await app.aKey('writer', [PROJECT]);
      const env = {
        HOME: folder.path,
        PYTHONPATH: 'trainer',
        PYTHONUNBUFFERED: '1',
        OMP_NUM_THREADS: '1',
        HF_HUB_OFFLINE: '1',
        SKEIN_URL: app.url,
        SKEIN_API_KEY: await app.aKey('trainer'),
      };
      const base = join(folder.path, 'base');
      const start = (...args: string[]) => {
        const program = watched(python, args, env);
        programs.push(program);
        return program;
      };
      const engine = start(
        ...['trainer/tests/engine_server.py', '--base', base, '--name', BASE],
        ...['--port', String(port)],
      );
      await until(() => engine.output().includes('listens') || engine.process.exitCode !== null);
      start('-m', 'skein_trainer', '--base', base, '--base-model', BASE, '--threads', '1');
      start(
        ...['-m', 'skein_trainer.serve', '--engine-url', `http://127.0.0.1:${port}`],
        ...['--provider', 'engine', '--every', '0.2', '--work', join(folder.path, 'loras')],
      );
    });
    afterAll(async () => {
      for (const { process: program } of programs) program.kill('SIGKILL');
      await app.close();
      folder.remove();
    });

    /** Resolves when the engine serves the step. Until then the gateway answers with an older one. */
    const isServed = (model: string, step: number) => async () => {
      for (const program of programs)
        if (program.process.exitCode !== null) throw new Error(program.output());
      const { body } = await preview.call('GET', `/models/${model}/checkpoints/${step}`);
      return body.serving.length > 0;
    };

    /** Sends a request to the gateway and scores the answer. */
    async function rollout(prompt: string, wanted: string, round: number, step: number) {
      const response = await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'x-skein-attributes': JSON.stringify({ task_id: `${round} ${prompt}` }),
        },
        body: JSON.stringify({
          model: `wandb-artifact:///${PROJECT}/tiny`,
          messages: [{ role: 'user', content: prompt }],
          max_tokens: LENGTH,
          temperature: 1,
        }),
      });
      const answer = (await response.json()) as any;
      if (response.status !== 200) throw new Error(JSON.stringify(answer));
      expect(answer.model).toMatch(step === 0 ? BASE : `step${step}`);
      const said: string = answer.choices[0].message.content;
      const id = response.headers.get('x-skein-call-id')!;
      return {
        id,
        score: said.split('').filter((letter) => wanted.includes(letter)).length / LENGTH,
      };
    }

    it('learns what is rewarded, with nothing done by hand', async () => {
      const [entity, project] = PROJECT.split('/');
      const model = await preview.aModel({ entity, project, name: 'tiny', base_model: BASE });
      const recipe_ref = await publish(
        app,
        aRecipe({
          llm: { policy: 'tiny' },
          select: { settle_s: 0 },
          group: { by: ['attributes.task_id'] },
          build: { token_exact: true },
          train: {
            experimental_config: {
              loss_fn: 'cispo',
              learning_rate: 0.01,
              // trains each sequence alone, as the engine computes it, so that both agree to the last bit
              packed_sequence_length: 1,
            },
          },
        }),
        { project: PROJECT },
      );
      const means: number[] = [];
      for (let round = 0; round <= ROUNDS; round++) {
        await until(isServed(model, round));
        const scored = await Promise.all(
          Object.entries(WANTED).flatMap(([prompt, wanted]) =>
            Array.from({ length: ANSWERS }, () => rollout(prompt, wanted, round, round)),
          ),
        );
        means.push(scored.reduce((sum, { score }) => sum + score, 0) / scored.length);
        if (means.at(-1)! >= 0.95 || round === ROUNDS) break;
        const batch = scored.map((one) =>
          feedbackOf({ ...one, task: '', second: 0, asks: [] }, PROJECT),
        );
        await app.post('/feedback/batch/create', { batch });
        const body = { project_id: PROJECT, recipe_ref, mode: 'new', accept: ['duplicate'] };
        const { body: build, text } = await app.post('/build/create', body);
        expect([text, build.counts]).toEqual([
          text,
          expect.objectContaining({ trajectories: 64, groups: 4 }),
        ]);
        const submit = { project_id: PROJECT, build_id: build.build_id, model_id: model };
        const { job_id } = (await app.post('/build/submit', submit)).body;
        await until(async () => {
          const { status, error_message } = await preview.job(job_id);
          if (status === 'failed') throw new Error(error_message);
          return status === 'succeeded';
        });
        const steps = (await preview.events(job_id)).filter(({ type }) => type === 'gradient_step');
        expect(steps.map(({ data }) => [data.ratio, data.off_policy])).toEqual([[1, 0]]);
      }
      expect(means[0]).toBeLessThan(0.4);
      expect(means.at(-1)).toBeGreaterThanOrEqual(0.9);
    }, 3_600_000);

    it('names a step that it has unloaded as not served', async () => {
      const [model] = (await preview.call('GET', '/models?name=tiny')).body.data;
      const steps = (await preview.checkpoints(model.id)).map(({ step }) => step);
      expect(steps.length).toBeGreaterThan(4);
      const answer = await send(
        `${app.url}/v1/chat/completions`,
        { model: `tiny:step1`, messages: [{ role: 'user', content: 'a?' }] },
        { authorization: `Bearer ${key}` },
      );
      expect([answer.status, answer.text]).toEqual([
        404,
        expect.stringContaining('no provider serves'),
      ]);
    });
  });
