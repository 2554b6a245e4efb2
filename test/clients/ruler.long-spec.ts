import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openTestDatabase } from '../support/database.js';
import { aRecipe, record, user } from '../support/rollouts.js';
import { aFolder, startServer, watched } from '../support/server.js';

/** Set by `npm run test:clients`, which creates the environment. Without it these tests are skipped. */
const folder = process.env['SKEIN_CLIENTS_VENV'];

(folder ? describe : describe.skip)('examples/ruler in plain Python', () => {
  /** A fake model. It scores attempts by their text, and leaves out one attempt of the group `odd`. */
  const judge = createServer((request, response) => {
    void text(request).then((body) => {
      const { messages } = JSON.parse(body);
      const attempts = [...messages[1].content.matchAll(/<attempt id="(\d+)">(.*)<\/attempt>/g)];
      const scores = attempts
        .slice(messages[1].content.includes('task odd') ? 1 : 0)
        .map(([, id, said]) => ({ attempt: Number(id), score: said.includes('right') ? 1 : 0.25 }));
      const message = { role: 'assistant', content: JSON.stringify({ scores }) };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    });
  });
  afterAll(() => judge.close());

  it('judges the rollouts of a group against each other, and its scores are rewards', async () => {
    await once(judge.listen(0, '127.0.0.1'), 'listening');
    const { port } = judge.address() as AddressInfo;
    const database = await openTestDatabase();
    const plain = await startServer({ DATABASE_URL: database.url });
    const specs = ['even', 'odd'].flatMap((task) =>
      ['right', 'wrong'].map((content) => ({
        id: `${task} ${content}`,
        task,
        asks: [{ messages: [user(`task ${task}`)], content }],
      })),
    );
    await record(plain, specs, 'acme/judged');
    const place = aFolder();
    const file = join(place.path, 'recipe.json');
    const recipe = aRecipe({ reward: { sum: [{ feedback: 'ruler', path: 'score' }] } });
    writeFileSync(file, JSON.stringify(recipe));
    const args = ['--project', 'acme/judged', '--recipe', file, '--model', 'judge'];
    const { output, exit } = watched(
      join(folder!, 'bin/python'),
      ['examples/ruler/ruler.py', ...args],
      {
        SKEIN_URL: plain.url,
        SKEIN_API_KEY: plain.key,
        JUDGE_URL: `http://127.0.0.1:${port}/v1`,
      },
    );
    await exit;
    expect(output()).toContain('group attributes.task_id=odd is not judged');
    expect(output()).toContain('1 of 2 groups are judged');
    const { body } = await plain.post('/build/preview', { project_id: 'acme/judged', recipe });
    expect(body.counts).toMatchObject({ unlabelled: 2, trajectories: 2 });
    expect(
      body.samples[0].trajectories.map(({ reward, metadata }: any) => [metadata.unit_id, reward]),
    ).toEqual([
      ['even right', 1],
      ['even wrong', 0.25],
    ]);
    place.remove();
    await plain.stop();
    await database.drop();
  }, 120_000);
});
