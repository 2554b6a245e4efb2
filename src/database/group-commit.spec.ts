import { Busy } from './busy.js';
import { GroupCommit } from './group-commit.js';

/** A write that ends when told to. */
function controlled() {
  const batches: number[][] = [];
  const ends: (() => void)[] = [];
  const write = (rows: number[]) => {
    batches.push(rows);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  return { batches, ends, write };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
const never = () => false;

it('writes the rows of one turn together and caps a batch in rows', async () => {
  const batches: number[][] = [];
  const group = new GroupCommit<number>(async (rows) => void batches.push(rows), never, {
    maxRows: 3,
  });
  await Promise.all([1, 2, 3, 4].map((n) => group.add(n, 'a/b', 1)));
  expect(batches).toEqual([[1, 2, 3], [4]]);
});

it('caps a batch in bytes, but always writes one row', async () => {
  const batches: number[][] = [];
  const group = new GroupCommit<number>(async (rows) => void batches.push(rows), never, {
    maxBytes: 10,
  });
  await Promise.all([4, 4, 4, 99, 1].map((bytes) => group.add(bytes, 'a/b', bytes)));
  expect(batches).toEqual([[4, 4], [4], [99], [1]]);
});

it('collects while as many writes are under way as may be', async () => {
  const { batches, ends, write } = controlled();
  const group = new GroupCommit<number>(write, never, { maxWrites: 2 });
  for (const n of [1, 2, 3, 4]) {
    void group.add(n, 'a/b', 1);
    await turn();
  }
  expect(batches).toEqual([[1], [2]]);
  ends[0]!();
  await turn();
  await turn();
  expect(batches).toEqual([[1], [2], [3, 4]]);
});

it('refuses only the bad row', async () => {
  const group = new GroupCommit<number>(
    async (rows) => {
      if (rows.includes(3)) throw new Error('bad row');
    },
    () => true,
  );
  const settled = await Promise.allSettled([1, 2, 3, 4, 5].map((n) => group.add(n, 'a/b', 1)));
  expect(settled.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ]);
});

it('refuses the whole batch, at once, when it is no row’s fault', async () => {
  let writes = 0;
  const group = new GroupCommit<number>(async () => {
    writes++;
    throw new Error('gone');
  }, never);
  const settled = await Promise.allSettled([1, 2, 3].map((n) => group.add(n, 'a/b', 1)));
  expect([writes, ...settled.map(({ status }) => status)]).toEqual([
    1,
    'rejected',
    'rejected',
    'rejected',
  ]);
});

it('bounds what waits, in rows and in bytes', async () => {
  const { ends, write } = controlled();
  const group = new GroupCommit<number>(write, never, {
    maxWrites: 1,
    maxWaitingRows: 2,
    maxWaitingBytes: 10,
  });
  void group.add(0, 'a/b', 1);
  await turn();
  void group.add(1, 'a/b', 9);
  await expect(group.add(2, 'a/b', 2)).rejects.toThrow(Busy);
  void group.add(3, 'a/b', 1);
  await expect(group.add(4, 'a/b', 0)).rejects.toThrow(Busy);
  ends[0]!();
  await turn();
  await turn();
  void group.add(5, 'a/b', 1); // there is room again
  expect(group.waitingRows).toBe(1);
});

it('takes a row of any weight when none waits', async () => {
  const written: number[] = [];
  const write = async (rows: number[]) => void written.push(...rows);
  const group = new GroupCommit<number>(write, never, { maxWaitingBytes: 10 });
  await group.add(1, 'a/b', 11);
  expect(written).toEqual([1]);
});

it('is idle when all is settled, also after it has been idle', async () => {
  const { ends, write } = controlled();
  const group = new GroupCommit<number>(write, never);
  await group.idle();
  const added = group.add(1, 'a/b', 1);
  await turn();
  let isIdle = false;
  const idle = group.idle().then(() => (isIdle = true));
  await turn();
  expect(isIdle).toBe(false);
  ends[0]!();
  await Promise.all([added, idle]);
});

it('writes each project by itself, in turns', async () => {
  const batches: number[][] = [];
  const group = new GroupCommit<number>(async (rows) => void batches.push(rows), never, {
    maxRows: 2,
    maxWrites: 1,
  });
  const add = (n: number) => group.add(n, n % 2 ? 'odd' : 'even', 1);
  await Promise.all([1, 3, 5, 2, 4, 7].map(add));
  expect(batches).toEqual([
    [1, 3],
    [2, 4],
    [5, 7],
  ]);
});
