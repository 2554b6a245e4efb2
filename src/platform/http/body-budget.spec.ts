import { BodyBudget } from './body-budget.js';

const MIB = 1024 * 1024;

describe('the budget of bodies', () => {
  let budget: BodyBudget;
  beforeEach(() => {
    budget = new BodyBudget(64 * MIB); // 8 MiB for small bodies, 56 MiB for the others
  });

  const takes = (owner: string, bytes: number) => budget.hold(owner).moved(bytes);

  it('gives a key as much as stays free', () => {
    expect(takes('a', 20 * MIB)).toBe(true);
    expect(takes('a', 9 * MIB)).toBe(false);
    expect(takes('a', 8 * MIB)).toBe(true);
    expect(takes('b', 15 * MIB)).toBe(false);
    expect(takes('b', 14 * MIB)).toBe(true);
    expect(takes('c', 7 * MIB)).toBe(true);
  });

  it('lets a body be larger that is alone, and no other one beside it', () => {
    expect(takes('a', 50 * MIB)).toBe(true);
    expect(takes('a', 5 * MIB)).toBe(false);
    expect(takes('b', 3 * MIB)).toBe(true);
  });

  it('lets small bodies pass while large ones fill it', () => {
    expect(takes('a', 56 * MIB)).toBe(true);
    expect(takes('b', MIB)).toBe(false);
    expect(takes('b', 200_000)).toBe(true);
    expect(takes('a', 200_000)).toBe(true);
  });

  it('lets those in that wait, the first of each key first, then the next', async () => {
    const first = budget.hold('a');
    void first.set(50 * MIB);
    const order: string[] = [];
    const waiting = ['a', 'a', 'b'].map(async (owner, i) => {
      await budget.hold(owner).set(10 * MIB);
      order.push(owner + i);
    });
    await Promise.resolve();
    expect(order).toEqual([]);
    first.release();
    await Promise.all(waiting);
    expect(order).toEqual(['a0', 'b2', 'a1']);
    expect(budget.held).toBe(30 * MIB);
  });

  it('refuses what never fits, whoever waits in excess, and whoever leaves', async () => {
    await expect(budget.hold('a').set(57 * MIB)).rejects.toMatchObject({ code: 'too_large' });
    await budget.hold('a').set(56 * MIB);
    const waiting = Array.from({ length: 65 }, () => budget.hold('b'));
    const answers = waiting.map((hold) => hold.set(MIB)!.catch((error: unknown) => error));
    expect(await answers[64]).toMatchObject({ code: 'unavailable' });
    for (const hold of waiting) hold.release();
    for (const answer of answers)
      expect(await answer).toMatchObject({
        code: 'unavailable',
        details: { headers: { 'Retry-After': '1' } },
      });
    expect(budget.held).toBe(56 * MIB);
  });

  it('lets a body wait 2 s in all, however often it waits', async () => {
    jest.useFakeTimers();
    try {
      const other = budget.hold('b');
      await other.set(50 * MIB);
      const hold = budget.hold('a');
      const first = hold.set(8 * MIB);
      jest.advanceTimersByTime(1500);
      other.moved(20 * MIB);
      await first;
      const second = hold.set(30 * MIB)!.catch((error: unknown) => error);
      jest.advanceTimersByTime(501);
      expect(await second).toMatchObject({ code: 'unavailable' });
    } finally {
      jest.useRealTimers();
    }
  });

  it('moves a hold that grows from the part for small bodies to the other one', () => {
    const hold = budget.hold('a');
    expect([hold.moved(1000), budget.small.all.weight, budget.large.all.weight]).toEqual([
      true,
      1000,
      0,
    ]);
    expect([hold.moved(MIB), budget.small.all.weight, budget.large.all.weight]).toEqual([
      true,
      0,
      MIB,
    ]);
    hold.release();
    expect(budget.held).toBe(0);
    expect(() => hold.add(1)).toThrow('the memory for bodies is in use');
    expect(budget.held).toBe(0);
  });
});
