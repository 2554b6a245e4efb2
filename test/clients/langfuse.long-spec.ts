import {
  callTree,
  expectStatistics,
  runClient,
  startWeaveServer,
  type WeaveServer,
} from '../support/client.js';

/** Runs the published npm package, unmodified, in a process of its own. */
describe('npm langfuse', () => {
  let server: WeaveServer;
  beforeAll(async () => {
    server = await startWeaveServer();
  });
  afterAll(() => server.close());

  it('traces, ends what it began in earlier requests, and scores', async () => {
    const seen = await runClient(process.execPath, ['test/clients/langfuse.program.mjs'], {
      LANGFUSE_BASEURL: server.url,
      LANGFUSE_PUBLIC_KEY: 'acme/demo',
      LANGFUSE_SECRET_KEY: server.key,
    });
    expect(seen.refused).toEqual([]);
    expect(seen.compiled).toBe('Hi you');
    const calls = await server.callsOf('acme/demo');
    expect(callTree(calls)).toEqual([
      [
        'answer',
        'success',
        [
          ['search', 'success', [['llm', 'success', []]]],
          ['clicked', 'success', []],
        ],
      ],
    ]);
    const [trace, llm] = [seen.trace, seen.generation].map((id) =>
      calls.find((call) => call.id === id),
    );
    expect(trace).toMatchObject({
      thread_id: 'talk',
      output: 'Sunny.',
      attributes: {
        userId: 'u',
        metadata: { picture: `@@@langfuseMedia:type=image/png|id=${seen.media}|source=bytes@@@` },
      },
    });
    expect(seen.bytes).toBe('no real picture');
    const [first, last] = [
      calls.map(({ started_at }) => started_at).toSorted()[0],
      calls
        .map(({ ended_at }) => ended_at)
        .toSorted()
        .at(-1),
    ];
    expect(trace).toMatchObject({ started_at: first, ended_at: last });
    expect(llm).toMatchObject({
      inputs: { messages: [{ role: 'user', content: 'How is it?' }] },
      output: 'Sunny.',
    });
    expect(llm.summary.weave.costs['gpt-4o-mini']).toMatchObject({ prompt_tokens: 20 });
    // gpt-4o-mini: 20 prompt tokens and 8 completion tokens
    await expectStatistics(server, 'acme/demo', { dollars: (20 * 0.15 + 8 * 0.6) / 1e6 });
    const { result } = (await server.post('/feedback/query', { project_id: 'acme/demo' })).body;
    expect(
      result
        .map(({ weave_ref, feedback_type, payload }: any) => [
          weave_ref.split('/').at(-1),
          feedback_type,
          payload.value,
        ])
        .toSorted(),
    ).toEqual(
      [
        [seen.trace, 'accuracy', 0.9],
        [seen.generation, 'style', 'short'],
        ['talk', 'helpful', 1],
      ].toSorted(),
    );
  });
});
