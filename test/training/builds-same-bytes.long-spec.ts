import { startApp, type TestApp } from '../support/app.js';
import { openTestDatabase } from '../support/database.js';
import {
  aRecipe,
  feedbackOf,
  itemsOf,
  PROJECT,
  publish,
  type RolloutSpec,
  user,
} from '../support/rollouts.js';
import { startServer } from '../support/server.js';

/** Digest of the groups built from `SPECS`. It must not depend on the database or the number of processes. */
const DIGEST = '1f7f648fd9c64121dda56fb09ec3865e36ccf17dbb6d5063c30acfa05507978c';
const MANIFEST = '1d6d2d2d54eececd31a1b88459fa2247ddb12d575878b6334591243e900c3496';

/** Names whose order differs between code points, UTF-16 units and natural languages. */
const TASKS = [
  'a',
  'B',
  'ä',
  '\u{1F600}',
  '\uFF5E',
  'z',
  ...Array.from({ length: 20 }, (_, i) => `${i}`),
];
const SPECS = TASKS.flatMap((task, t) =>
  Array.from({ length: 4 }, (_, i): RolloutSpec => ({
    id: `${task}-${i}`,
    task,
    second: (t * 7) % 5,
    score: (t + i) % 3,
    asks: [{ messages: [user(`do ${task}`)], content: `${task} ${i}` }],
  })),
);
const RECIPE = aRecipe({ split: { salt: 's', eval_percent: 20 } });

type Service = Pick<TestApp, 'post'>;

/** Every second item first, both halves from the end. */
const shuffled = <T>(list: T[]) => [
  ...list.filter((_, i) => i % 2).toReversed(),
  ...list.filter((_, i) => i % 2 === 0).toReversed(),
];

async function record(service: Service, isShuffled: boolean) {
  const items = SPECS.flatMap((spec) => itemsOf(spec));
  const batch = isShuffled ? shuffled(items) : items;
  const feedback = SPECS.map((spec) => feedbackOf(spec));
  for (let at = 0; at < batch.length; at += 100)
    await service.post('/call/upsert_batch', { batch: batch.slice(at, at + 100) });
  await service.post('/feedback/batch/create', {
    batch: isShuffled ? shuffled(feedback) : feedback,
  });
}

async function built(service: Service) {
  const recipe_ref = await publish(service, RECIPE);
  const body = { project_id: PROJECT, recipe_ref, mode: 'all' };
  const { body: build } = await service.post('/build/create', body);
  const all = { project_id: PROJECT, build_id: build.build_id, format: 'art' };
  return { ...build, text: (await service.post('/build/export', all)).text };
}

describe('the same bytes', () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const close of closing) await close();
  });

  it('are made of the same data, also once more', async () => {
    const app = await startApp();
    closing.push(() => app.close());
    await record(app, false);
    const first = await built(app);
    expect(first).toMatchObject({ digest: DIGEST, manifest_digest: MANIFEST });
    expect((await built(app)).text).toBe(first.text);
  });

  it('are made in any order of arrival, by any number of workers, and after a restart', async () => {
    const { url, drop } = await openTestDatabase();
    const two = await startServer({ DATABASE_URL: url, WORKERS: '2' });
    closing.push(() => two.stop());
    await record(two, true);
    expect(await built(two)).toMatchObject({ digest: DIGEST, manifest_digest: MANIFEST });
    await two.stop();
    const one = await startServer({ DATABASE_URL: url, BOOTSTRAP_API_KEY: two.key });
    closing.push(() => one.stop(), drop);
    expect(await built(one)).toMatchObject({ digest: DIGEST, manifest_digest: MANIFEST });
  });
});
