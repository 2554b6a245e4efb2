import { allButLastRule, freeShareRule, FairQueue, Shares, twoThirdsRule } from './fair-queue.js';

type Options = Partial<ConstructorParameters<typeof FairQueue<number>>[0]>;

/** Returns a queue for a weight, of which each request takes a part. */
function queueFor(free: number, options: Options = {}) {
  const state = { free };
  const take = (wanted: number) => wanted <= state.free && ((state.free -= wanted), true);
  const refusal = () => new Error('refused');
  const queue = new FairQueue<number>({ take, refusal, ...options });
  const served: string[] = [];
  const ask = (owner: string, wanted = 1, enter?: Parameters<typeof queue.enter>[2]) =>
    Promise.resolve(queue.enter(owner, wanted, enter)).then(
      () => void served.push(owner),
      ({ message }: Error) => void served.push(`${owner} ${message}`),
    );
  /** Gives weight back, and returns the owners that were served. */
  const give = async (weight = 1) => {
    served.length = 0;
    state.free += weight;
    queue.wake();
    await new Promise(setImmediate);
    return served.join(', ');
  };
  return { queue, ask, give, served, state };
}

describe('FairQueue', () => {
  it('gives owners turns, and to each in the order that it asked', async () => {
    const { ask, give, queue } = queueFor(1);
    await ask('first');
    for (const owner of ['many', 'many', 'many', 'one', 'other']) void ask(owner);
    expect(queue.count).toBe(5);
    const order = [];
    for (let i = 0; i < 6; i++) order.push(await give());
    expect(order).toEqual(['many', 'one', 'other', 'many', 'many', '']);
    expect([queue.count, queue.owners]).toEqual([0, []]);
  });

  it('gives one to each owner before any gets a second one', async () => {
    const { ask, give } = queueFor(0);
    for (const owner of ['a', 'a', 'b', 'c']) void ask(owner);
    expect(await give(4)).toBe('a, b, c, a');
  });

  it('puts owners first that have less', async () => {
    const held = new Shares(allButLastRule(10));
    for (const owner of ['a/1', 'a/1', 'a/2', 'b/1', 'c/1']) held.add(owner);
    const { ask, give } = queueFor(0, { held });
    for (const owner of ['a/1', 'a/2', 'b/1', 'c/1']) void ask(owner);
    expect([await give(), await give(), await give(), await give()]).toEqual([
      'b/1',
      'c/1',
      'a/2',
      'a/1',
    ]);
  });

  it('gives entities turns, however many keys wait for one', async () => {
    const { ask, give } = queueFor(0);
    for (const owner of ['many/1', 'many/2', 'many/1', 'one/1', 'one/1']) void ask(owner);
    const order = [];
    for (let i = 0; i < 5; i++) order.push(await give());
    expect(order).toEqual(['many/1', 'one/1', 'many/2', 'one/1', 'many/1']);
  });

  it('lets no owner wait for another one’s larger wish, and nobody pass one of the same owner', async () => {
    const { ask, give } = queueFor(0);
    void ask('a', 10);
    void ask('a', 1);
    void ask('b', 2);
    expect(await give(2)).toBe('b');
    expect(await give(9)).toBe('');
    expect(await give(2)).toBe('a, a');
  });

  it('refuses who has waited too long, and serves whoever stood behind', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    try {
      const { ask, give, queue, served } = queueFor(0, { waitMs: 1000 });
      void ask('a', 5);
      void ask('a', 1, { waitMs: 2000 });
      expect(await give()).toBe('');
      await jest.advanceTimersByTimeAsync(999);
      expect(served).toEqual([]);
      await jest.advanceTimersByTimeAsync(1);
      expect(served).toEqual(['a refused', 'a']);
      expect([queue.count, jest.getTimerCount()]).toEqual([0, 0]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('lets go who is aborted, before or while waiting, with the reason', async () => {
    const { ask, give, queue } = queueFor(0);
    const leaving = new AbortController();
    void ask('a', 1, { signal: leaving.signal });
    void ask('a', 1);
    leaving.abort(new Error('gone'));
    expect(queue.count).toBe(1);
    expect(await give()).toBe('a gone, a');
    expect(await give()).toBe(''); // nobody took the weight, so it is free
    await expect(queue.enter('a', 1, { signal: leaving.signal })).rejects.toThrow('gone');
  });

  it('settles once, whatever comes first of turn, abort and time', async () => {
    const { ask, give, state, queue } = queueFor(0);
    const leaving = new AbortController();
    void ask('a', 1, { signal: leaving.signal, waitMs: 1 });
    const served = give();
    leaving.abort(new Error('gone'));
    expect(await served).toBe('a');
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect([state.free, queue.count]).toEqual([0, 0]);
  });

  it('bounds who waits, in number and weight, and has room again when one is served', async () => {
    const { queue, give } = queueFor(0, { waiting: twoThirdsRule({ count: 4, weight: 20 }) });
    const ask = (owner: string, weight: number) => queue.enter(owner, 1, { weight });
    void ask('a', 9);
    await expect(ask('a', 2)).rejects.toThrow('refused'); // limit of the owner's weight
    void ask('a', 1);
    await expect(ask('a', 0)).rejects.toThrow('refused'); // limit of the owner's count
    void ask('b', 9);
    await expect(ask('c', 2)).rejects.toThrow('refused'); // limit of the total weight
    void ask('c', 1);
    await expect(ask('d', 0)).rejects.toThrow('refused'); // limit of the total count
    await give();
    void ask('d', 0);
    expect(queue.count).toBe(4);
  });

  it('can be woken by taking', async () => {
    const { ask, give, state, queue } = queueFor(0, {
      take: (wanted) => {
        queue.wake();
        return wanted <= state.free && ((state.free -= wanted), true);
      },
    });
    for (const owner of ['a', 'b']) void ask(owner);
    expect(await give(2)).toBe('a, b');
  });

  it('loses nobody, and gives nothing twice, in any order of events', async () => {
    let seed = 1;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const { queue, state } = queueFor(3);
    const outcomes = { served: 0, left: 0 };
    const all: Promise<void>[] = [];
    for (let i = 0; i < 2000; i++) {
      const leaving = new AbortController();
      if (random(4) === 0) setImmediate(() => leaving.abort(new Error('gone')));
      const { signal } = leaving;
      const entered = Promise.resolve(queue.enter(`k${random(7)}`, 1, { signal }));
      all.push(
        entered.then(
          async () => {
            outcomes.served++;
            if (random(2)) await new Promise(setImmediate);
            state.free++;
            queue.wake();
          },
          () => void outcomes.left++,
        ),
      );
      if (random(3) === 0) await new Promise(setImmediate);
    }
    await Promise.all(all);
    expect(outcomes.served + outcomes.left).toBe(2000);
    expect([state.free, queue.count]).toEqual([3, 0]);
  });
});

describe('Shares', () => {
  it('leave the last one to others, unless it is the only one', () => {
    const three = new Shares(allButLastRule(3));
    expect(['a', 'a', 'a', 'b', 'b'].map((owner) => three.take(owner))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    const one = new Shares(allButLastRule(1));
    expect([one.take('a'), one.take('b')]).toEqual([true, false]);
    one.give('a');
    expect(one.take('b')).toBe(true);
  });

  it('leave the last one to others than the keys of an entity, and of many one more to its other keys', () => {
    const six = new Shares(allButLastRule(6));
    const takes = (owner: string, count: number) =>
      Array.from({ length: count }, () => six.take(owner)).filter(Boolean).length;
    expect([takes('a/1', 6), takes('a/2', 2), takes('b/1', 2)]).toEqual([4, 1, 1]);
  });

  it('take the first of any weight where an entity may have two thirds, a key half', () => {
    const heavy = new Shares(twoThirdsRule({ count: 4, weight: 20 }));
    expect([heavy.take('a', 30), heavy.take('b', 1)]).toEqual([true, false]);
    const shares = new Shares(twoThirdsRule({ count: 100, weight: 60 }));
    expect([shares.take('a/1', 31), shares.take('a/1', 30)]).toEqual([true, false]);
    shares.give('a/1', 31);
    expect([shares.take('a/1', 30), shares.take('a/2', 11), shares.take('a/2', 10)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(shares.take('b/1', 20)).toBe(true);
  });

  it('leave a key as much as it has, its entity half of that, and let one change what it has', () => {
    const shares = new Shares(freeShareRule(60));
    expect([shares.take('a/1', 20), shares.take('a/1', 11), shares.take('a/1', 10)]).toEqual([
      true,
      false,
      true,
    ]);
    expect([shares.take('a/2', 11), shares.take('a/2', 10)]).toEqual([false, true]);
    expect([shares.take('b/1', 11), shares.take('b/1', 10)]).toEqual([false, true]);
    expect(shares.hasRoom('a/1', 25, 20)).toBe(false);
    expect(shares.hasRoom('a/1', 19, 20)).toBe(true);
    expect(shares.all).toEqual({ count: 4, weight: 50 });
  });

  it('let one be larger that is alone', () => {
    const shares = new Shares(freeShareRule(60));
    expect([shares.take('a', 61), shares.take('a', 60), shares.take('b', 0)]).toEqual([
      false,
      true,
      true,
    ]);
  });
});
