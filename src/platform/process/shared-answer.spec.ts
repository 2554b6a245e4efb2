import { setTimeout as sleep } from 'node:timers/promises';
import { SharedAnswer } from './shared-answer.js';

it('is found once for all who ask at a time, and soon after, and anew for one who asks alone', async () => {
  let found = 0;
  const shared = new SharedAnswer(async () => {
    await sleep(20);
    return ++found;
  });
  expect(await Promise.all([shared.get(), shared.get(), shared.get()])).toEqual([1, 1, 1]);
  expect(await shared.get()).toBe(1);
  await sleep(1100); // the longest time that an answer stays fresh
  expect(await shared.get()).toBe(2);
  expect(await shared.get()).toBe(3);
});

it('hands a failure to all who asked, and tries again', async () => {
  let tries = 0;
  const shared = new SharedAnswer(async () => {
    if (++tries === 1) throw new Error('away');
    return 'back';
  });
  await expect(shared.get()).rejects.toThrow('away');
  expect(await shared.get()).toBe('back');
});
