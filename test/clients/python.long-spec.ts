import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  callTree,
  expectStatistics,
  runClient,
  startWeaveServer,
  type WeaveServer,
} from '../support/client.js';
import { linesOf, send } from '../support/app.js';
import { openTestDatabase } from '../support/database.js';
import { startEngine, type TestEngine } from '../support/engine.js';
import { aFolder, freePort, startServer, watched } from '../support/server.js';

/** Set by `npm run test:clients`, which creates the environment. Without it these tests are skipped. */
const folder = process.env['SKEIN_CLIENTS_VENV'];
const python = join(folder ?? '', 'bin/python');

/** Set by `npm run test:clients -- --trainers`. It is separate, because PyTorch is large. */
const trainers = process.env['SKEIN_TRAINERS_VENV'];

/**
 * A group is named by its package: `scripts/test-clients.mjs` writes the table of docs/clients/README.md from the
 * groups.
 */
const describeAll = folder ? describe : describe.skip;
let server: WeaveServer;
let provider: TestEngine;
/** The port of an engine that a test starts. */
let letters: number;
const project_id = 'acme/demo';
// the packages load slowly, and first look for servers of their makers
const PATIENCE_MS = 300_000;

beforeAll(async () => {
  if (!folder && !trainers) return;
  provider = await startEngine();
  letters = await freePort();
  server = await startWeaveServer({
    GATEWAY_PROVIDERS: JSON.stringify([
      { name: 'openai', base_url: provider.url, models: ['gpt-4o-mini'] },
      { name: 'letters', base_url: `http://127.0.0.1:${letters}/v1`, engine: 'vllm' },
    ]),
  });
});
afterAll(async () => {
  await server?.close();
  await provider?.close();
});

const skein = () => ({ SKEIN_URL: server.url, SKEIN_API_KEY: server.key });
const langfuse = (project: string) => ({
  LANGFUSE_HOST: server.url,
  LANGFUSE_BASE_URL: server.url,
  LANGFUSE_PUBLIC_KEY: project,
  LANGFUSE_SECRET_KEY: server.key,
});
/** The price of Langfuse's programs with gpt-4o-mini: 20 prompt tokens and 8 completion tokens. */
const LANGFUSE_DOLLARS = (20 * 0.15 + 8 * 0.6) / 1e6;
const scoresOf = async (project: string) =>
  (await server.post('/feedback/query', { project_id: project })).body.result
    .map(({ weave_ref, feedback_type, payload }: any) => [
      weave_ref.split('/').at(-1),
      feedback_type,
      payload.value,
    ])
    .toSorted();

describeAll('PyPI weave', () => {
  it(
    'traces, fails, saves, judges and reads back what it did',
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
    'tags and names versions, sums up usage, sizes and feedback, shows views, exports spans',
    async () => {
      const seen = await runClient(
        python,
        ['test/clients/weave-objects.program.py'],
        server.settings,
      );
      expect(seen).toMatchObject({
        first: [['draft'], ['latest', 'production']],
        second: [
          ['reviewed', 'under review'],
          ['latest', 'my deploy.v2', 'production', 'staging'],
        ],
        'first after': [['draft'], []],
        read: { production: 'second', latest: 'second', v0: 'first', 'my deploy.v2': 'second' },
        lists: [
          ['draft', 'under review'],
          ['my deploy.v2', 'production'],
        ],
        nowhere: expect.stringContaining('prompt:staging'),
        usage: {
          'our-model': { requests: 2, prompt_tokens: 20, completion_tokens: 4, total_tokens: 24 },
        },
        'usage of trace': [12, 12, 24],
        sizes: true,
        feedback: { output_score: { avg: 0.5, min: 0.5, max: 0.5 } },
        'not offered': expect.stringContaining('/image/create is not an operation'),
        'sizes of calls': true,
        // the client's own member of this name, merged with the service's members
        summary: { views: { report: expect.anything() }, status: 'success' },
        deleted: 1,
      });
      // weave.init exports the OpenTelemetry spans of the process
      const names = (await server.callsOf('acme/objects')).map((call) => call.op_name);
      expect(names).toContain('own span');
    },
    PATIENCE_MS,
  );

  it(
    'asks models through the service, and judges with them',
    async () => {
      const answers = ['Parce que.', 'Clouds.', '{"is_short": true}', null];
      const from = provider.asked.length;
      for (const content of answers)
        provider.next((asked, response) => {
          if (content === null)
            return response.writeHead(429).end('{"error":{"message":"slow down"}}');
          const message = { role: 'assistant', content };
          const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
          const choices = [{ index: 0, message, finish_reason: 'stop' }];
          response.writeHead(200, { 'content-type': 'application/json' });
          return response.end(JSON.stringify({ id: 'c', model: asked.body.model, choices, usage }));
        });
      const program = ['test/clients/weave-completions.program.py'];
      const settings = { ...server.settings, WEAVE_USE_SERVER_CACHE: 'false' };
      const seen = await runClient(python, program, settings);
      expect(seen).toEqual({
        written: 'Parce que.',
        prompted: 'Clouds.',
        scored: { is_short: true },
        refused: [expect.stringMatching(/^LLM API returned an error: .*429/), 'None'],
        unknown: [
          'Failed to call LLM completions endpoint.',
          expect.stringContaining('there is no model "nobody"'),
        ],
      });
      // members that the client did not set are not sent: providers refuse null for some
      const system = (content: string) => ({ role: 'system', content });
      const user = (content: string) => ({ role: 'user', content });
      const model = 'gpt-4o-mini';
      const judged = user('Is this short: Parce que.?');
      expect(provider.asked.slice(from).map(({ body }) => body)).toEqual([
        { model, messages: [system('Answer in French.'), user('Why?')], response_format: { type: 'text' }, temperature: 0.5 }, // prettier-ignore
        { model, messages: [system('Think about rain.'), user('Why?')], response_format: { type: 'text' } }, // prettier-ignore
        { model, messages: [judged], response_format: { type: 'json_object' } },
        { model, messages: [user('too much')] },
      ]);

      const calls = await server.callsOf('acme/judged');
      const asked = calls.filter(({ op_name }) => op_name === 'weave.completions_create');
      const choice = (content: string) => ({ choices: [{ message: { content } }] });
      expect(asked).toMatchObject([
        { output: choice('Parce que.'), summary: { usage: { [model]: { total_tokens: 7 } } } },
        { output: choice('Clouds.'), exception: null },
        { output: choice('{"is_short": true}') },
        { output: { error: { message: 'slow down' } }, exception: expect.stringContaining('429') },
      ]);
      const { body: scores } = await server.post('/feedback/query', { project_id: 'acme/judged' });
      expect(scores.result).toMatchObject([
        { feedback_type: 'wandb.runnable.judge', payload: { output: { is_short: true } } },
      ]);
    },
    PATIENCE_MS,
  );

  it(
    'stores odd values, or says in its log that it does not',
    async () => {
      const seen: Record<string, any> = await runClient(
        python,
        ['test/clients/weave-odd.program.py'],
        { ...server.settings, WEAVE_USE_SERVER_CACHE: 'false' },
      );
      const isSilent = ([, { stored, errors }]: [string, any]) => !stored && errors.length === 0;
      expect(Object.entries(seen).filter(isSilent)).toEqual([]);
      const refused = (why: RegExp, stored: unknown = false) => ({
        stored,
        errors: [expect.stringMatching(why)],
      });
      const [whole, stored] = [
        { stored: true, errors: [] },
        { stored: 1, errors: [] },
      ];
      expect(seen).toMatchObject({
        'thread id of 1,000 characters': {
          ...whole,
          thread_id: ['t'.repeat(12), 't'.repeat(60), 1000],
        },
        'thread id of 1,280 bytes': { ...whole, thread_id: ['é'.repeat(12), 'é'.repeat(60), 640] },
        'thread id of 1,281 bytes': refused(/thread_id must be .* 1280 bytes/),
        'thread id with a tab': { ...whole, thread_id: 'a\tb\n' },
        'thread id with NUL': refused(/thread_id must be/),
        'exception over 1 MiB': {
          ...whole,
          exception: [
            '{"type": "Va',
            expect.stringMatching(/… \[cut by Skein: 1,048,512 of 9,000,037 bytes\]$/),
            1_048_558,
          ],
        },
        'exception with NUL': whole,
        'display name with NUL': { ...whole, display_name: 'a\ufffdb' },
        'inputs with NUL': { ...whole, inputs: { 'a\0b': 'c\0d' } },
        'inputs of 33 MiB': refused(/over the limit of 33554432 bytes/),
        'started_at before the year 1': refused(/started_at must be/),
        'run step below 0': refused(/wb_run_step must not be less than 0/),
        'run id of 300 characters': whole,
        'name taken away': { ...whole, display_name: null },
        'name taken away at once': { ...whole, display_name: null },
        'name set at once': { ...whole, display_name: 'new' },
        'name taken away and set': { ...whole, display_name: 'new' },
        'twelve calls, two of which cannot be stored': {
          stored: [0, 1, 3, 4, 5, 6, 7, 8, 10, 11],
          errors: [expect.stringContaining('thread_id must be')],
        },
        'feedback over 1 MiB': refused(/payload holds 1048584 bytes/, 0),
        'feedback type of 300 characters': refused(/feedback_type must be/, 0),
        'note of 2,000 characters': refused(/payload.note must be/, 0),
        "feedback on an agent's turn": stored,
        "feedback on an agent's conversation": stored,
        "feedback on an agent's span": stored,
        '3,000 pieces of feedback': { stored: 3000, errors: [] },
        'eight pieces of feedback, two over 1 MiB': { stored: 6 },
        'object with NUL': whole,
        'object of 40 MiB': refused(/over the limit/),
        'object with rows with NUL': whole,
        'file of 101 MiB': refused(/over the limit/),
      });
    },
    PATIENCE_MS,
  );

  it(
    'has calls annotated in queues, and evaluates by a dataset that is made of calls',
    async () => {
      // the client's cache on disk would skip objects that it has published to another server
      const settings = { ...server.settings, WEAVE_USE_SERVER_CACHE: 'false' };
      const seen = await runClient(python, ['test/clients/weave-annotation.program.py'], settings);
      expect(seen).toEqual({
        queue: ['Review', 'how good?', true, null],
        listed: ['Review'],
        updated: 'Second review',
        added: [3, 0, 0, 1],
        items: [0, 1, 2].map((n) => [n, n + 1, 'unstarted']),
        fields: ['inputs.prompt'],
        left: [
          [1, 'in_progress', 'admin'],
          [2, 'unstarted', null],
        ],
        stats: [
          [3, 1],
          [0, 0],
        ],
        feedback: [[4, true]],
        refused: 0,
        'in queue': [0, 1, 2],
        rated: [0],
        dataset: [
          'Dataset',
          'golden',
          [
            { prompt: 'one', expected: 'ONE', stars: 4 },
            { prompt: 'two', expected: 'TWO', stars: 2 },
          ],
        ],
        more: [1, 2, 2, 4],
        grown: ['one', 'two', 'own', 'three'],
        evaluated: 2,
        'to remove': [[true, true]],
        removed: [1, ['two', 'own', 'three']],
        'queue after': [2],
        deleted: true,
        'read deleted': expect.stringMatching(/NotFound/),
      });
    },
    PATIENCE_MS,
  );

  it(
    'records rollouts from which a policy learns',
    async () => {
      const settings = { ...server.settings, ...skein() };
      const { means } = await runClient(python, ['test/clients/loop.program.py'], settings);
      expect(means[0]).toBeLessThan(0.3);
      expect(means.at(-1)).toBeGreaterThanOrEqual(0.8);
    },
    PATIENCE_MS,
  );
});

describeAll('PyPI openpipe-art', () => {
  it(
    'registers, rolls out by its own names, trains, logs, tunes on rows, and deletes checkpoints',
    async () => {
      const place = aFolder();
      const env = { ...skein(), HOME: place.path, PYTHONPATH: 'trainer:trainer/tests' };
      const module = (...args: string[]) => watched(python, ['-m', ...args], env);
      const work = ['--work', place.path];
      const programs = [
        module('letters', '--port', String(letters)),
        module('skein_trainer', '--engine', 'letters:LettersEngine', '--base', 'letters', ...work),
        module(
          ...['skein_trainer.serve', '--engine-url', `http://127.0.0.1:${letters}`, ...work],
          ...['--provider', 'letters', '--base-model', 'letters', '--every', '0.2'],
        ),
      ];
      let seen;
      try {
        seen = await runClient(python, ['test/clients/art.program.py'], skein());
      } finally {
        for (const { process: program } of programs) program.kill('SIGKILL');
        await Promise.all(programs.map(({ exit }) => exit));
        place.remove();
      }
      // the entity is the key's user, because the key's scopes name no entity
      const name = 'admin/demo/agent-1';
      expect(seen).toMatchObject({ entity: 'admin', name: `wandb-artifact:///${name}` });
      // two prompts, twelve answers each, three letters an answer; trainer and sampler compute the same probabilities
      const metrics = { num_trained_tokens: 72, ratio: expect.closeTo(1, 12) };
      expect(seen.train).toEqual(
        [1, 2].map((step) => [step, `${name}:step${step}`, expect.objectContaining(metrics)]),
      );
      expect(seen.sft).toEqual([
        ['training_started', null],
        ['gradient_step', 4],
        ['gradient_step', 4],
        ['training_ended', null],
      ]);
      expect(seen.rewards[2]).toBeGreaterThan(seen.rewards[0]);
      expect(seen.kept).toEqual([seen.best, 3]);

      const asked = { model_id: seen.model };
      const answer = await send(`${server.url}/v1/preview/trajectories/query`, asked, {
        authorization: `Bearer ${server.key}`,
      });
      const logged = linesOf(answer).filter(({ split }: any) => split === 'val');
      expect(logged.map(({ num_tokens }: any) => num_tokens)).toEqual(Array(48).fill(3));
      const calls = await server.callsOf('admin/demo');
      expect(calls.map(({ op_name, exception }) => [op_name, exception])).toEqual(
        Array(72).fill(['gateway.chat.completions', null]),
      );
    },
    PATIENCE_MS,
  );

  it(
    'runs the example of its page',
    async () => {
      const page = readFileSync('docs/clients/art.md', 'utf8');
      const example = /```python\n([^]*?)```/.exec(page)![1]!;
      const program = example
        .replace('skn_…', server.key)
        .replace('http://127.0.0.1:3000', server.url);
      const { output, exit } = watched(python, ['-c', program], {});
      expect([await exit, output()]).toEqual([
        0,
        expect.stringMatching(/acme demo [0-9a-f-]{36}\s*$/),
      ]);
    },
    PATIENCE_MS,
  );

  it(
    'reads the exports of a build, as TRL does',
    async () => {
      const seen = await runClient(python, ['test/clients/exports.program.py'], skein());
      expect(seen.art).toEqual({
        groups: 8,
        trajectories: 64,
        choices: 128,
        logprobs: 128,
        rewards: [0, 0.2, 1],
      });
      // one row for each of the two turns
      expect(seen['trl-sft']).toMatchObject({ rows: 128, are_conversations: true });
      expect(seen['trl-sft'].first.prompt).toMatch(/^<user>Solve task \d<.user><assistant>$/);
      expect(seen['trl-sft'].first.completion).toMatch(/^tool\d\(\)<.assistant>$/);
      expect(seen['trl-dpo']).toMatchObject({
        are_conversations: true,
        columns: ['chosen', 'prompt', 'rejected'],
      });
      expect(seen['trl-kto']).toMatchObject({
        rows: 128,
        are_conversations: true,
        columns: ['completion', 'label', 'prompt'],
      });
    },
    PATIENCE_MS,
  );
});

describeAll('PyPI langfuse 2', () => {
  it(
    'traces, ends what it began in earlier requests, and scores',
    async () => {
      const settings = { ...langfuse('acme/two'), PYTHONPATH: join(folder!, 'langfuse-2') };
      const seen = await runClient(python, ['test/clients/langfuse2.program.py'], settings);
      expect(seen.auth).toBe(true);
      const calls = await server.callsOf('acme/two');
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
      const llm = calls.find(({ id }) => id === seen.generation);
      expect(llm).toMatchObject({ output: 'Sunny.' });
      expect(llm.summary.weave.costs['gpt-4o-mini']).toMatchObject({ prompt_tokens: 20 });
      expect(calls.find(({ id }) => id === seen.trace)).toMatchObject({ thread_id: 'talk' });
      await expectStatistics(server, 'acme/two', { dollars: LANGFUSE_DOLLARS });
      expect(await scoresOf('acme/two')).toEqual(
        [
          [seen.trace, 'accuracy', 0.9],
          [seen.generation, 'style', 'short'],
        ].toSorted(),
      );
    },
    PATIENCE_MS,
  );
});

describeAll('PyPI langfuse', () => {
  it(
    'traces by OpenTelemetry, and scores',
    async () => {
      const seen = await runClient(
        python,
        ['test/clients/langfuse5.program.py'],
        langfuse('acme/five'),
      );
      expect(seen.auth).toBe(true);
      const calls = await server.callsOf('acme/five');
      expect(callTree(calls)).toEqual([['answer', 'success', [['llm', 'success', []]]]]);
      const llm = calls.find(({ id }) => id === seen.generation);
      expect(llm).toMatchObject({ output: 'Sunny.', thread_id: 'talk' });
      expect(llm.summary.weave.costs['gpt-4o-mini']).toMatchObject({ prompt_tokens: 20 });
      await expectStatistics(server, 'acme/five', { dollars: LANGFUSE_DOLLARS });
      const scores = new Map(
        (await scoresOf('acme/five')).map(([on, ...said]: string[]) => [on, said]),
      );
      expect(scores.get(seen.generation)).toEqual(['style', 'short']);
      expect(scores.get('talk')).toEqual(['helpful', 1]);
      expect(scores.get('0123456789abcdef')).toEqual(['mean', 0.5]);
      expect(seen.bytes).toBe('no real picture');
      const root = calls.find(({ id }) => id === seen.root);
      expect(JSON.stringify(root.attributes)).toContain(
        `@@@langfuseMedia:type=image/png|id=${seen.media}|source=bytes@@@`,
      );
      expect(JSON.stringify(root.attributes)).not.toContain('base64,');
      // a score of a trace belongs to its root, unless it arrives before the root
      expect(scores.get(seen.root) ?? scores.get(seen.trace)).toEqual(['accuracy', 0.9]);
    },
    PATIENCE_MS,
  );
});

describeAll('PyPI langfuse, prompts', () => {
  it(
    'creates, fetches, labels and deletes them',
    async () => {
      const program = ['test/clients/langfuse-prompts.program.py'];
      expect(await runClient(python, program, langfuse('acme/prompts'))).toEqual({
        versions: [1, 2],
        tags: ['t'],
        compiled: ['Hi 1', 1],
        latest: 2,
        moved: ['latest', 'production', 'v1'],
        left: [],
        'latest moved': 400,
        chat: [
          { role: 'user', content: '1' },
          { role: 'assistant', content: 'so' },
        ],
        missing: true,
        fallback: 'F',
        'after deletion': [1, true],
        listed: [['f o/p%', [1], ['t']]],
      });
    },
    PATIENCE_MS,
  );
});

describeAll('examples/loop in plain Python', () => {
  it(
    'learns, and nothing from the scores of others',
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

(trainers ? describe : describe.skip)('trainers: ART, TRL, Tinker, verifiers', () => {
  it(
    'train exactly the recorded tokens of the exports of a build',
    async () => {
      const seen = await runClient(
        join(trainers!, 'bin/python'),
        ['test/clients/trainers.program.py'],
        skein(),
      );
      expect(seen['trained by art']).toBe(seen['trained tokens']);
      expect(seen).toMatchObject({
        art: true,
        tinker: true,
        verifiers: true,
        rewards: [-1, 1],
        arguments: ['{"id": 12345678901234567890, "share": 10.0}'],
        'trl-sft': true,
        'trl-kto': true,
        labels: [...Array(6).fill(false), ...Array(6).fill(true)],
        'trl-dpo': true,
      });
      const thought = (text: string) => [
        { type: 'thinking', thinking: 'so' },
        { type: 'text', text },
      ];
      expect(seen.comparisons).toMatchObject(
        Array(3).fill(['A', thought('right'), thought('wrong')]),
      );
    },
    PATIENCE_MS,
  );
});
