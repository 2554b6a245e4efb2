import { setTimeout as sleep } from 'node:timers/promises';
import { openTestDatabase } from '../support/database.js';
import { randomOf } from '../support/policy.js';
import { aSaidProject, randomNeedle } from '../support/said.js';
import { type Server, startServer } from '../support/server.js';

/** Documents in all, stored in rounds between kills. */
const ROUNDS = 5;
const DOCUMENTS = 400;
const QUERIES = 30;

it('finds exactly what 2,000 random documents say, with two servers of which one is killed while it indexes', async () => {
  const database = await openTestDatabase();
  const env = { DATABASE_URL: database.url };
  const random = randomOf(Date.now() % 1e6);
  let killed = await startServer(env);
  const other: Server = await startServer({ ...env, BOOTSTRAP_API_KEY: killed.key });
  const project = aSaidProject(other, 'acme/said', random);
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await project.add(DOCUMENTS);
      await sleep(random() * 1500);
      await killed.stop('SIGKILL');
      await project.delete(20);
      for (let i = 0; i < QUERIES; i++)
        await project.check(randomNeedle(random, [...project.calls.values()]), random() < 0.5);
      killed = await startServer({ ...env, BOOTSTRAP_API_KEY: other.key });
    }
  } finally {
    await killed.stop('SIGKILL');
    await other.stop();
    await database.drop();
  }
});
