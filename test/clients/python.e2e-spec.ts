import { join } from 'node:path';
import { callTree, runClient, startWeaveServer, type WeaveServer } from '../support/client.js';
import { linesOf } from '../support/app.js';
import { openTestDatabase } from '../support/database.js';
import { aFolder, startServer, watched } from '../support/server.js';

/** `npm run test:clients` makes the environment and sets this; elsewhere these tests are skipped. */
const folder = process.env['SKEIN_CLIENTS_VENV'];
const python = join(folder ?? '', 'bin/python');

(folder ? describe : describe.skip)('published packages for Python', () => {
  let server: WeaveServer;
  beforeAll(async () => {
    server = await startWeaveServer();
  });
  afterAll(() => server.close());
  const project_id = 'acme/demo';
  // the packages are slow to load, and look for servers of their makers first
  const PATIENCE_MS = 120_000;

  it(
    'weave traces, fails, saves, judges and reads back what it did',
    async () => {
      const seen = await runClient(python, ['test/clients/weave.program.py'], server.settings);
      expect(seen).toMatchObject({
        result: 6,
        error: 'out of order',
        rows: [
          { question: 'capital of France', weight: 1.5 },
          { question: 'π to 2 places', weight: 2 },
        ],
        feedback: ['quality', 'wandb.note.1', 'wandb.reaction.1'],
        costs: [['our-model', 0.5]],
      });

      const calls = await server.callsOf(project_id);
      const doubles = [
        ['double', 'success', []],
        ['double', 'success', []],
      ];
      expect(callTree(calls)).toEqual([
        ['Total of doubles', 'success', doubles],
        ['fail', 'error', doubles.slice(1)],
        ['total', 'success', doubles],
        ['total', 'success', doubles],
      ]);
      expect(seen.calls).toEqual(calls.slice(0, 3).map(({ id }) => id));
      expect(calls.find(({ exception }) => exception !== null).exception).toContain('ValueError');

      const threads = linesOf(await server.post('/threads/stream_query', { project_id }));
      expect(threads).toEqual([
        expect.objectContaining({ thread_id: 'conversation', turn_count: 2 }),
      ]);
    },
    PATIENCE_MS,
  );

  it(
    'openpipe-art registers a model, logs, and trains to the end with the example trainer',
    async () => {
      const checkpoints = aFolder();
      const settings = { SKEIN_URL: server.url, SKEIN_API_KEY: server.key };
      const once = ['--once', '--wait', '30', '--checkpoints', checkpoints.path];
      const [seen] = await Promise.all([
        runClient(python, ['test/clients/art.program.py'], settings),
        runClient(python, ['examples/trainer/trainer.py', ...once], settings),
      ]);
      expect(seen.step).toBe(1);
      checkpoints.remove();
    },
    PATIENCE_MS,
  );

  it(
    'openpipe-art and TRL read the exports of a build',
    async () => {
      const settings = { SKEIN_URL: server.url, SKEIN_API_KEY: server.key };
      const seen = await runClient(python, ['test/clients/exports.program.py'], settings);
      expect(seen.art).toEqual({
        groups: 8,
        trajectories: 64,
        choices: 128,
        logprobs: 128,
        rewards: [0, 0.2, 1],
      });
      expect(seen['trl-sft']).toMatchObject({ rows: 64, are_conversations: true });
      expect(seen['trl-sft'].first.text).toMatch(
        /^<user>Solve task \d<.user><assistant>tool\d\(\)/,
      );
      expect(seen['trl-dpo']).toMatchObject({
        are_conversations: true,
        columns: ['chosen', 'prompt', 'rejected'],
      });
      expect(seen['trl-kto']).toMatchObject({
        rows: 64,
        are_conversations: true,
        columns: ['completion', 'label', 'prompt'],
      });
    },
    PATIENCE_MS,
  );

  it(
    'weave records rollouts from which a policy learns',
    async () => {
      const settings = { ...server.settings, SKEIN_URL: server.url, SKEIN_API_KEY: server.key };
      const { means } = await runClient(python, ['test/clients/loop.program.py'], settings);
      expect(means[0]).toBeLessThan(0.3);
      expect(means.at(-1)).toBeGreaterThanOrEqual(0.8);
    },
    PATIENCE_MS,
  );

  it(
    'the example of the loop learns, and nothing from the scores of others',
    async () => {
      const database = await openTestDatabase();
      const plain = await startServer({ DATABASE_URL: database.url });
      const settings = { SKEIN_URL: plain.url, SKEIN_API_KEY: plain.key };
      const last = async (...args: string[]) => {
        const { output, exit } = watched(python, ['examples/loop/loop.py', ...args], settings);
        await exit;
        return Number(/mean score ([\d.]+)\s*$/.exec(output())?.[1]);
      };
      expect(await last()).toBeGreaterThanOrEqual(0.8);
      expect(await last('--shuffle')).toBeLessThan(0.5);
      await plain.stop();
      await database.drop();
    },
    PATIENCE_MS,
  );
});
