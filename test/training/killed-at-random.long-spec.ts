import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { newSecret } from '../../src/platform/auth/keys/secret.js';
import { type Answer, basic, linesOf, send } from '../support/app.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { type Preview, previewOf, sha256Of } from '../support/preview.js';
import { aRecipe, feedbackOf, publish } from '../support/rollouts.js';
import { aFolder, freePort, type Run, startServer, watched } from '../support/server.js';
import { until } from '../support/until.js';

/** The engine of this test answers with letters and needs no torch: any Python for the trainer is enough. */
const python = process.env['SKEIN_TRAINER_PYTHON'] ?? 'python3';
const isNew = 'import sys; sys.exit(sys.version_info < (3, 11))';
const isThere = spawnSync(python, ['-c', isNew]).status === 0;

/** Determines which processes are killed, and when. */
const SEED = Number(process.env['SKEIN_KILL_SEED'] ?? 31);
const PARTS = ['service', 'trainer', 'engine', 'serve'] as const;
type Part = (typeof PARTS)[number];
/** Rounds with kills, and kills per round. Every other kill ends two processes at once. */
const [ROUNDS, MOMENTS] = [2, 4];

const WANTED = { 'a?': '0123456789', 'b?': 'klmnopqrst', 'c?': 'abcdefghij', 'd?': 'uvwxyz?: ' };
const [ANSWERS, LENGTH, BATCH, EPOCHS] = [8, 3, 8, 6];
const NUM_ANSWERS = ANSWERS * Object.keys(WANTED).length;
const NUM_STEPS = (EPOCHS * NUM_ANSWERS) / BATCH;
const PROJECT = 'acme/kills';
const BASE = 'letters';

if (!isThere)
  it.skip(`the trainer needs Python 3.11 or later, and ${python} is none (SKEIN_TRAINER_PYTHON names another)`, () => {});
else
  describe('service, trainer, engine and server of models that are killed', () => {
    let database: TestDatabase;
    let url: string;
    let preview: Preview;
    const key = newSecret();
    const folder = aFolder();
    const parts = {} as Record<Part, Run>;
    let isOver = false;

    beforeAll(async () => {
      database = await openTestDatabase();
      const [port, enginePort] = [await freePort(), await freePort()];
      url = `http://127.0.0.1:${port}`;
      const engineUrl = `http://127.0.0.1:${enginePort}`;
      preview = previewOf({ url, key });
      const env = {
        HOME: folder.path,
        PYTHONPATH: 'trainer:trainer/tests',
        SKEIN_URL: url,
        SKEIN_API_KEY: key,
      };
      const module = (...args: string[]) => watched(python, ['-m', ...args], env);
      const starts: Record<Part, () => Run | Promise<Run>> = {
        service: () =>
          startServer({
            PORT: String(port),
            DATABASE_URL: database.url,
            BOOTSTRAP_API_KEY: key,
            TRAINER_LEASE_SECONDS: '2',
            TRAINER_HEARTBEAT_SECONDS: '1',
            TRAINER_MAX_ATTEMPTS: '100',
            GATEWAY_PROVIDERS: JSON.stringify([
              { name: 'engine', base_url: `${engineUrl}/v1`, engine: 'vllm' },
            ]),
          }),
        engine: () => module('letters', '--port', String(enginePort)),
        trainer: () =>
          module(
            ...['skein_trainer', '--engine', 'letters:LettersEngine', '--base', BASE],
            ...['--state-seconds', '0', '--work', folder.path],
          ),
        serve: () =>
          module(
            ...['skein_trainer.serve', '--engine-url', engineUrl, '--provider', 'engine'],
            ...['--every', '0.2', '--work', folder.path],
          ),
      };
      /** Starts a process again whenever it ends, as a supervisor does. */
      const keepAlive = async (part: Part) => {
        for (;;) {
          const run = await starts[part]();
          parts[part] = run;
          if (isOver) run.process.kill('SIGKILL');
          await run.exit;
          if (isOver) return;
        }
      };
      for (const part of PARTS) void keepAlive(part);
      await until(() => 'service' in parts);
    });
    afterAll(async () => {
      isOver = true;
      for (const { process: one } of Object.values(parts)) one.kill('SIGKILL');
      await database.drop();
      folder.remove();
    });

    /** Repeats a request while the service or the engine is away. */
    async function persist(
      request: () => Promise<Answer>,
      isDone = ({ status }: Answer) => status < 500,
    ): Promise<Answer> {
      for (;;) {
        const answer = await request().catch(() => undefined);
        if (answer && isDone(answer)) return answer;
        await pause(50);
      }
    }
    const post = (path: string, body: unknown, { headers = {} } = {}) =>
      persist(() => send(url + path, body, { authorization: basic(key), ...headers }));
    const once = async (path: string, body: object) => {
      const headers = { 'idempotency-key': randomUUID() };
      const answer = await post(path, body, { headers });
      expect([answer.status, answer.text]).toEqual([200, answer.text]);
      return answer.body;
    };

    /** Requests an answer of a step once it is served, and scores it. */
    async function rollout(prompt: string, wanted: string, round: number, step: number) {
      const asked = {
        model: `learner:step${step}`,
        messages: [{ role: 'user', content: prompt }],
        max_tokens: LENGTH,
        logprobs: true,
      };
      const headers = {
        authorization: `Bearer ${key}`,
        'x-skein-project': PROJECT,
        'x-skein-attributes': JSON.stringify({ task_id: `${round} ${prompt}` }),
      };
      const answer = await persist(
        () => send(`${url}/v1/chat/completions`, asked, headers),
        ({ status, body }) => status === 200 && body !== undefined,
      );
      const [{ logprobs, message }] = answer.body.choices;
      const right = logprobs.content.filter(({ token }: any) => wanted.includes(token));
      return {
        id: answer.headers.get('x-skein-call-id')!,
        content: message.content as string,
        score: right.length / LENGTH,
      };
    }

    /** Waits until the job has ended and returns it. */
    async function ended(job: string, tell = (_numSteps: number) => {}): Promise<any> {
      const seen = await persist(
        () => preview.call('GET', `/training-jobs/${job}/events?limit=100`),
        ({ body }) => {
          const types: string[] = body?.data?.map(({ type }: any) => type) ?? [];
          tell(types.filter((type) => type === 'gradient_step').length);
          return types.some((type) => /ended|failed/.test(type));
        },
      );
      expect(seen.status).toBe(200);
      return (await persist(() => preview.call('GET', `/training-jobs/${job}`))).body;
    }

    it(`each job ends once with the weights of an undisturbed run, and the loop learns on (seed ${SEED}; SKEIN_KILL_SEED sets another)`, async () => {
      const [entity, project] = PROJECT.split('/');
      const aModel = (name: string) =>
        preview.aModel({ entity, project, name, base_model: BASE, return_existing: true });
      const model = await aModel('learner');
      const recipe = aRecipe({
        llm: { policy: 'learner' },
        select: { settle_s: 0 },
        group: { by: ['attributes.task_id'] },
        build: { token_exact: true },
        train: {
          experimental_config: { learning_rate: 4, batch_size: BATCH, num_epochs: EPOCHS },
        },
      });
      const recipe_ref = await publish({ post }, recipe, { project: PROJECT });

      const chance = chances(SEED);
      const pick = <T>(items: readonly T[]) => items[Math.floor(chance() * items.length)]!;
      /**
       * Returns a function that kills processes at random points of a round, counted in answers and then gradient
       * steps.
       */
      function killer(numMoments: number) {
        const moments = Array.from({ length: numMoments }, (_, i) => ({
          at: Math.floor(chance() * (NUM_ANSWERS + NUM_STEPS)),
          victims: i % 2 === 0 ? [pick(PARTS)] : [pick(PARTS), pick(PARTS)],
          delay_ms: 50 * chance(),
        })).toSorted((a, b) => a.at - b.at);
        return async (done: number) => {
          while (moments.length > 0 && moments[0]!.at <= done) {
            const { victims, delay_ms } = moments.shift()!;
            await pause(delay_ms);
            for (const victim of victims) parts[victim].process.kill('SIGKILL');
          }
        };
      }

      const means: number[] = [];
      const said = new Map<string, string>();
      const trained: { build_id: string; job_id: string }[] = [];
      let step = 0;
      async function learn(numMoments: number) {
        const kill = killer(numMoments);
        let done = 0;
        const scored = await Promise.all(
          Object.entries(WANTED).flatMap(([prompt, wanted]) =>
            Array.from({ length: ANSWERS }, async () => {
              const one = await rollout(prompt, wanted, means.length, step);
              void kill(++done);
              return one;
            }),
          ),
        );
        for (const { id, content } of scored) said.set(id, content);
        means.push(scored.reduce((sum, { score }) => sum + score, 0) / scored.length);
        const batch = scored.map(({ id, score }) => feedbackOf({ id, score, asks: [] }, PROJECT));
        await post('/feedback/batch/create', { batch });
        const body = { project_id: PROJECT, recipe_ref, mode: 'new', accept: ['duplicate'] };
        const { build_id, counts } = await once('/build/create', body);
        expect(counts.trajectories).toBe(NUM_ANSWERS);
        const { job_id } = await submit(build_id, model);
        trained.push({ build_id, job_id });
        const job = await ended(job_id, (numSteps) => void kill(NUM_ANSWERS + numSteps));
        await kill(Infinity);
        expect(job.status).toBe('succeeded');
        if (job.made_step) step++;
      }
      const submit = (build_id: string, model_id: string) =>
        once('/build/submit', { project_id: PROJECT, build_id, model_id });

      for (let round = 0; round < ROUNDS; round++) await learn(MOMENTS);
      await learn(0);
      expect(means.at(-1)).toBeGreaterThan(means[0]! + 0.2);

      // each job ended once and made at most one checkpoint
      for (const { job_id } of trained) {
        const types = (await preview.events(job_id)).map(({ type }) => type);
        expect(types.filter((type) => type === 'training_started')).toHaveLength(1);
        expect(types.filter((type) => /ended|failed/.test(type))).toEqual(['training_ended']);
        const numSteps = types.filter((type) => type === 'gradient_step').length;
        expect(numSteps).toBeLessThanOrEqual(NUM_STEPS);
      }
      const checkpointsOf = async (id: string) => {
        const [, ...steps] = (await preview.checkpoints(id)).map((one) => one.step);
        expect(steps).toEqual(Array.from({ length: step }, (_, i) => i + 1));
        const path = `/models/${id}/checkpoints`;
        return Promise.all(
          steps.map(async (at) => (await preview.call('GET', `${path}/${at}`)).body),
        );
      };
      const made = await checkpointsOf(model);
      expect(new Set(made.map(({ job_id }) => job_id)).size).toBe(step);

      // every file is complete, and no other file is left
      for (const { step: of, files } of made)
        for (const { name, size_bytes, sha256 } of files) {
          const path = `/v1/preview/models/${model}/checkpoints/${of}/file?name=${name}`;
          const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
          const bytes = Buffer.from(await answer.arrayBuffer());
          expect([bytes.length, sha256Of(bytes)]).toEqual([size_bytes, sha256]);
        }
      const client = new pg.Client(database.url);
      await client.connect();
      const { rows } = await client.query(
        `SELECT job_id, array_agg(DISTINCT file) AS files FROM checkpoint_parts GROUP BY job_id`,
      );
      await client.end();
      expect(Object.fromEntries(rows.map((row) => [row.job_id, row.files.toSorted()]))).toEqual(
        Object.fromEntries(made.map(({ job_id, files }) => [job_id, digestsOf(files)])),
      );

      // the answers that the client got are recorded
      const filter = { call_ids: [...said.keys()] };
      const calls = linesOf(
        await post('/calls/stream_query', { project_id: PROJECT, filter, fields: ['output'] }),
      );
      expect(
        new Map(calls.map(({ id, output }) => [id, output.choices[0].message.content])),
      ).toEqual(said);

      // the same weights as without kills: no gradient step was repeated or lost
      const undisturbed = await aModel('undisturbed');
      for (const { build_id } of trained) await ended((await submit(build_id, undisturbed)).job_id);
      const again = await checkpointsOf(undisturbed);
      expect(again.map(({ files }) => digestsOf(files))).toEqual(
        made.map(({ files }) => digestsOf(files)),
      );
    });
  });

const digestsOf = (files: { sha256: string }[]) => files.map(({ sha256 }) => sha256).toSorted();

/** Returns a generator of numbers from 0 to 1 (Park and Miller). */
function chances(seed: number): () => number {
  let state = (seed % 2147483646) + 1;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}
