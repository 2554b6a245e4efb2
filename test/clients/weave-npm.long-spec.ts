import { callTree, runClient, startWeaveServer, type WeaveServer } from '../support/client.js';

/** Runs the published npm package, unmodified, in a process of its own. */
describe('npm weave', () => {
  let server: WeaveServer;
  beforeAll(async () => {
    server = await startWeaveServer();
  });
  afterAll(() => server.close());

  const run = (program: string) =>
    runClient(process.execPath, [`test/clients/${program}`], server.settings);

  it('traces, fails, saves, evaluates and reads back what it did', async () => {
    const seen = await run('weave.program.mjs');

    expect(seen).toMatchObject({
      result: 6,
      error: 'out of order',
      rows: [
        { question: 'capital of France', expected: 'Paris', weight: 1.5 },
        { question: 'π to 2 places', expected: '3.14', weight: 2 },
      ],
      evaluation: { isRight: { true_count: 1, true_fraction: 0.5 } },
      names: ['new', null, 'again'],
    });
    expect(seen.calls).toEqual([
      expect.objectContaining({ id: seen.sum, display_name: 'Sum of doubles', output: 6 }),
      expect.objectContaining({ parent_id: seen.sum, inputs: { arg0: 1 }, output: 2 }),
      expect.objectContaining({ parent_id: seen.sum, inputs: { arg0: 2 }, output: 4 }),
    ]);

    const call = (name: string, ...children: object[]) => [name, 'success', children];
    const double = call('double');
    const example = call('Evaluation.predictAndScore', call('answer'), call('isRight'));
    const calls = await server.callsOf('acme/demo');
    expect(callTree(calls)).toEqual([
      call('Sum of doubles', double, double),
      ['fail', 'error', [double]],
      call('Evaluation_answer', example, example),
      call(
        'Evaluation.evaluate',
        call('Evaluation.predict_and_score', call('Model.predict'), call('politeness.score')),
        call('Evaluation.summarize'),
      ),
      call('again'),
    ]);
    const failed = calls.find(({ exception }) => exception !== null);
    expect(failed.exception).toContain('out of order');
    expect(new Set(calls.map(({ wb_user_id }) => wb_user_id))).toEqual(new Set(['admin']));

    const { result } = (await server.post('/feedback/query', { project_id: 'acme/demo' })).body;
    expect(result).toEqual([
      expect.objectContaining({
        feedback_type: 'wandb.runnable.politeness',
        payload: { output: 0.5 },
        weave_ref: `weave:///acme/demo/call/${calls.find(({ op_name }) => op_name.includes('/Model.predict:')).id}`,
      }),
    ]);
  });

  it('goes on when one item of its batches cannot be stored, and loses no call by its name', async () => {
    const seen = await run('weave-malformed.program.mjs');
    expect(seen).toEqual({ isAlive: true });
    const cut = `${'x'.repeat(1023)}…`;
    expect(callTree(await server.callsOf('acme/malformed'))).toEqual(
      Array.from({ length: 3 }, () => [
        ['good', 'success', []],
        [cut, 'success', []],
      ]).flat(),
    );
  });
});
