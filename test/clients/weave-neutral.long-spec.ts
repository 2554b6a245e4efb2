import { join } from 'node:path';
import { runClient, startWeaveServer, type WeaveServer } from '../support/client.js';

/** `npm run test:clients` makes the environment and sets this; elsewhere these tests are skipped. */
const folder = process.env['SKEIN_CLIENTS_VENV'];
const describeAll = folder ? describe : describe.skip;
const PATIENCE_MS = 300_000;
const project_id = 'acme/neutral';

let service: WeaveServer;
beforeAll(async () => {
  if (folder) service = await startWeaveServer();
}, PATIENCE_MS);
afterAll(() => service?.close());

const run = (address: string, ...args: string[]) =>
  runClient(
    join(folder!, 'bin/python'),
    ['test/clients/weave-neutral.program.py', ...args],
    // the cache of the client would take the object for published
    { ...service.settings, WF_TRACE_SERVER_URL: address, WEAVE_USE_SERVER_CACHE: 'false' },
  );

describeAll('PyPI weave', () => {
  it(
    'loses nothing at the root of a service, where it is told of its door, and reads everything at the door',
    async () => {
      const seen = await run(service.root.url, 'write');
      const told = expect.stringContaining('WF_TRACE_SERVER_URL=<service>/weave');
      expect(seen).toEqual({ calls: told, feedback: told, call_feedback: told, object: 1 });

      const request = { project_id, include_feedback: true };
      const stored = await service.root.post('/calls/query', request);
      expect(stored.body.calls).toHaveLength(1);
      const { trace_name, feedback } = stored.body.calls[0].summary.svc;
      expect(trace_name).toBe('double');
      expect(feedback.map((one: any) => one.feedback_type).toSorted()).toEqual([
        ...['quality', 'svc.note.1', 'svc.reaction.1'],
      ]);
      expect(feedback.every(({ svc_ref }: any) => svc_ref.startsWith('svc:'))).toBe(true);

      const types = ['quality', 'wandb.note.1', 'wandb.reaction.1'];
      expect(await run(service.settings.WF_TRACE_SERVER_URL)).toEqual({
        calls: ['double'],
        feedback: types,
        call_feedback: types,
        object: 1,
      });
    },
    PATIENCE_MS,
  );
});
