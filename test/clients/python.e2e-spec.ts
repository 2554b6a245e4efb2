import { join } from 'node:path';
import { callTree, runClient, startWeaveServer, type WeaveServer } from '../support/client.js';
import { linesOf } from '../support/app.js';
import { aFolder } from '../support/server.js';

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
});
