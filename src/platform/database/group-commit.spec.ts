import { Busy } from '../refusals.js';
import { GroupCommit } from './group-commit.js';

/** A write that ends on command. */
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
const OWNER = { key: 'k', project: 'a/b' };

it('writes the rows of one turn together and caps a batch in rows', async () => {
  const batches: number[][] = [];
  const group = new GroupCommit<number>(async (rows) => void batches.push(rows), never, {
    maxRows: 3,
  });
  await Promise.all([1, 2, 3, 4].map((n) => group.add(n, OWNER, 1)));
  expect(batches).toEqual([[1, 2, 3], [4]]);
});

it('caps a batch in bytes, but always writes one row', async () => {
  const batches: number[][] = [];
  const group = new GroupCommit<number>(async (rows) => void batches.push(rows), never, {
    maxBytes: 10,
  });
  await Promise.all([4, 4, 4, 99, 1].map((bytes) => group.add(bytes, OWNER, bytes)));
  expect(batches).toEqual([[4, 4], [4], [99], [1]]);
});

it('collects while as many writes are under way as may be', async () => {
  const { batches, ends, write } = controlled();
  const group = new GroupCommit<number>(write, never, { maxWrites: 3, patienceMs: 0 });
  for (const n of [1, 2, 3, 4]) {
    void group.add(n, OWNER, 1);
    await turn();
  }
  expect(batches).toEqual([[1], [2]]); // the third write is for others
  ends[0]!();
  await turn();
  await turn();
  expect(batches).toEqual([[1], [2], [3, 4]]);
});

it('keeps rows that fill no write until the one of their project has ended', async () => {
  const { batches, ends, write } = controlled();
  const group = new GroupCommit<number>(write, never, { maxRows: 3, patienceMs: 60_000 });
  const add = async (n: number, project: string) => {
    void group.add(n, { key: 'k', project }, 1);
    await turn();
  };
  for (const n of [1, 2, 3]) await add(n, 'a/b');
  await add(99, 'a/other');
  expect(batches).toEqual([[1], [99]]);
  await add(4, 'a/b');
  expect(batches).toEqual([[1], [99], [2, 3, 4]]); // a full write starts at once
  await add(5, 'a/b');
  for (const end of ends.splice(0)) end();
  await turn();
  await turn();
  expect(batches.at(-1)).toEqual([5]);
});

it('keeps them no longer than the patience', async () => {
  const { batches, write } = controlled();
  const group = new GroupCommit<number>(write, never, { patienceMs: 20 });
  for (const n of [1, 2, 3]) {
    void group.add(n, OWNER, 1);
    await turn();
  }
  expect(batches).toEqual([[1]]);
  while (batches.length < 2) await turn();
  expect(batches).toEqual([[1], [2, 3]]);
});

it.each([
  ['key', 'slow', (n: number) => `a/${n}`],
  ['project', 'a/slow', () => 'a/slow'],
])(
  'leaves the last write to others than a %s whose writes are slow',
  async (what, name, project) => {
    const { batches, write } = controlled();
    const group = new GroupCommit<number>(write, never, { maxWrites: 4, patienceMs: 0 });
    for (const n of [1, 2, 3, 4, 5]) {
      const key = what === 'key' ? name : `k${n}`;
      void group.add(n, { key, project: project(n) }, 1);
      await turn();
    }
    void group.add(99, { key: 'other', project: 'b/b' }, 1);
    await turn();
    expect(batches).toEqual([[1], [2], [3], [99]]);
  },
);

it('refuses only the bad row', async () => {
  const group = new GroupCommit<number>(
    async (rows) => {
      if (rows.includes(3)) throw new Error('bad row');
    },
    () => true,
  );
  const settled = await Promise.allSettled([1, 2, 3, 4, 5].map((n) => group.add(n, OWNER, 1)));
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
  const settled = await Promise.allSettled([1, 2, 3].map((n) => group.add(n, OWNER, 1)));
  expect([writes, ...settled.map(({ status }) => status)]).toEqual([
    1,
    'rejected',
    'rejected',
    'rejected',
  ]);
});

it('makes one error for the many rows of a request for which there is no room', async () => {
  const { batches, ends, write } = controlled();
  const group = new GroupCommit<number>(write, never, { maxWaitingRows: 8 });
  const rows = Array.from({ length: 10_000 }, (_, i) => i);
  let asked = 0;
  const outcomes = group.addAll(rows, () => {
    asked++;
    return { owner: OWNER, bytes: 1 };
  });
  await turn();
  ends[0]!();
  await expect(outcomes).rejects.toThrow(Busy);
  expect([asked, batches]).toEqual([5, [[0, 1, 2, 3]]]);
});

it('bounds what waits, in rows and in bytes, and a key to half of it', async () => {
  const { ends, write } = controlled();
  const group = new GroupCommit<number>(write, never, {
    maxWrites: 1,
    maxWaitingRows: 4,
    maxWaitingBytes: 20,
  });
  const add = (key: string, bytes: number) => group.add(0, { key, project: 'a/b' }, bytes);
  const first = add('k', 1);
  await turn();
  const waiting = [add('k', 9)];
  await expect(add('k', 2)).rejects.toThrow(Busy); // limit of the key's bytes
  waiting.push(add('k', 1));
  await expect(add('k', 0)).rejects.toThrow(Busy); // limit of the key's rows
  waiting.push(add('l', 9));
  await expect(add('m', 2)).rejects.toThrow(Busy); // limit of all bytes
  waiting.push(add('m', 1));
  await expect(add('n', 0)).rejects.toThrow(Busy); // limit of all rows
  ends[0]!();
  await turn();
  await turn();
  waiting.push(add('k', 1)); // room is free again
  expect(group.waitingRows).toBe(1);
  ends[1]!();
  await turn();
  await turn();
  ends[2]!();
  await Promise.all([first, ...waiting]);
});

it('takes a row of any weight when none waits', async () => {
  const written: number[] = [];
  const write = async (rows: number[]) => void written.push(...rows);
  const group = new GroupCommit<number>(write, never, { maxWaitingBytes: 10 });
  await group.add(1, OWNER, 11);
  expect(written).toEqual([1]);
});

it('is idle when all is settled, also after it has been idle', async () => {
  const { ends, write } = controlled();
  const group = new GroupCommit<number>(write, never);
  await group.idle();
  const added = group.add(1, OWNER, 1);
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
  const add = (n: number) => group.add(n, { key: 'k', project: n % 2 ? 'odd' : 'even' }, 1);
  await Promise.all([1, 3, 5, 2, 4, 7].map(add));
  expect(batches).toEqual([
    [1, 3],
    [2, 4],
    [5, 7],
  ]);
});

it('lets a key wait for one write of another, however many projects that one names', async () => {
  const batches: number[][] = [];
  const group = new GroupCommit<number>(async (rows) => void batches.push(rows), never, {
    maxWrites: 1,
  });
  const added = Array.from({ length: 10_000 }, (_, n) =>
    group.add(n, { key: 'many', project: `a/${n % 4000}` }, 1),
  );
  added.push(group.add(-1, { key: 'one', project: 'a/b' }, 1));
  await Promise.all(added);
  expect(batches.findIndex((rows) => rows.includes(-1))).toBe(1);
  expect(batches.flat().toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 10_001 }, (_, n) => n - 1),
  );
});

it('fills a write with rows that other keys have for its project', async () => {
  const batches: number[][] = [];
  const group = new GroupCommit<number>(async (rows) => void batches.push(rows), never, {
    maxRows: 3,
    maxWrites: 1,
  });
  const add = (n: number, key: string) => group.add(n, { key, project: 'a/b' }, 1);
  await Promise.all([add(1, 'k'), add(2, 'k'), add(3, 'l'), add(4, 'l'), add(5, 'm')]);
  expect(batches).toEqual([
    [1, 2, 3],
    [4, 5],
  ]);
});
