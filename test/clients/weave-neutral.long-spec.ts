import { join } from 'node:path';
import { runClient, startWeaveServer, type WeaveServer } from '../support/client.js';

/** Set by `npm run test:clients`, which creates the environment. Without it these tests are skipped. */
const folder = process.env['SKEIN_CLIENTS_VENV'];
const describeAll = folder ? describe : describe.skip;
const PATIENCE_MS = 300_000;
const project_id = 'acme/neutral';

let neutral: WeaveServer;
beforeAll(async () => {
  if (folder) neutral = await startWeaveServer({ WIRE_DIALECT: 'svc' });
}, PATIENCE_MS);
afterAll(() => neutral?.close());

const run = (server: WeaveServer, ...args: string[]) =>
  runClient(
    join(folder!, 'bin/python'),
    ['test/clients/weave-neutral.program.py', ...args],
    { ...server.settings, WANDB_API_KEY: neutral.key, WEAVE_USE_SERVER_CACHE: 'false' }, // the cache would treat the object as published already
  );

describeAll('PyPI weave', () => {
  it(
    'loses nothing in a service that was started for the other dialect, and is told of the setting',
    async () => {
      const seen = await run(neutral, 'write');
      const told = expect.stringContaining('WIRE_DIALECT=weave');
      expect(seen).toEqual({ calls: told, feedback: told, call_feedback: told, object: 1 });

      const stored = await neutral.post('/calls/query', { project_id, include_feedback: true });
      expect(stored.body.calls).toHaveLength(1);
      const { trace_name, feedback } = stored.body.calls[0].summary.svc;
      expect(trace_name).toBe('double');
      expect(feedback.map((one: any) => one.feedback_type).toSorted()).toEqual([
        ...['quality', 'svc.note.1', 'svc.reaction.1'],
      ]);
      expect(feedback.every(({ svc_ref }: any) => svc_ref.startsWith('svc:'))).toBe(true);

      await neutral.stop();
      const again = await startWeaveServer({ DATABASE_URL: neutral.databaseUrl });
      const types = ['quality', 'wandb.note.1', 'wandb.reaction.1'];
      try {
        expect(await run(again)).toEqual({
          calls: ['double'],
          feedback: types,
          call_feedback: types,
          object: 1,
        });
      } finally {
        await again.close();
      }
    },
    PATIENCE_MS,
  );
});
