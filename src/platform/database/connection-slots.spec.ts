import { Busy } from '../refusals.js';
import { ConnectionSlots } from './connection-slots.js';

function asked(slots: ConnectionSlots, key: string) {
  const state = { isGiven: false, key };
  const slot = slots.take(key).then((given) => {
    state.isGiven = true;
    return given;
  });
  return Object.assign(state, { slot });
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('Slots', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] }));
  afterEach(() => jest.useRealTimers());

  it('keep the last slot for another key', async () => {
    const slots = new ConnectionSlots(3);
    const greedy = ['a', 'a', 'a'].map((key) => asked(slots, key));
    const other = asked(slots, 'b');
    await settled();
    expect(greedy.map(({ isGiven }) => isGiven)).toEqual([true, true, false]);
    expect(other.isGiven).toBe(true);
  });

  it('lend the only one there is to anybody', async () => {
    const slots = new ConnectionSlots(1);
    await slots.take('a');
    const next = asked(slots, 'a');
    await settled();
    expect(next.isGiven).toBe(false);
  });

  it('go to the key that holds the fewest, then to the one that was served longest ago', async () => {
    const slots = new ConnectionSlots(2);
    let held = [await slots.take('x'), await slots.take('y')];
    const waiting = ['a', 'a', 'b', 'c', 'b'].map((key) => asked(slots, key));
    const served: string[] = [];
    while (served.length < waiting.length) {
      slots.free(held.shift()!);
      await settled();
      for (const one of waiting)
        if (one.isGiven) {
          one.isGiven = false;
          served.push(one.key);
          held = [...held, await one.slot];
        }
    }
    expect(served.slice(0, 3)).toEqual(['a', 'b', 'c']);
    expect(served.slice(3).toSorted()).toEqual(['a', 'b']);
  });

  it('are refused to who has waited too long, who is then forgotten', async () => {
    const slots = new ConnectionSlots(1);
    const held = await slots.take('a');
    const late = slots.take('b').catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(5000);
    expect(await late).toBeInstanceOf(Busy);
    expect(slots.waitingCount).toBe(0);
    slots.free(held);
    expect(slots.heldCount).toBe(0);
  });

  it('are not waited for by who cannot wait', async () => {
    const slots = new ConnectionSlots(1);
    const held = slots.takeNow('a')!;
    expect(slots.takeNow('b')).toBeUndefined();
    slots.free(held);
    expect(slots.takeNow('b')).toBeDefined();
  });

  it.each<[string, string[], string, boolean]>([
    ['a key that has none', ['a', 'a', 'b'], 'c', true],
    ['a key that would have no more than the other then has', ['a', 'a', 'a', 'b'], 'b', true],
    ['a key that would have more', ['a', 'a', 'b'], 'b', false],
    ['the same key', ['a', 'a', 'b'], 'a', false],
  ])('are taken from a slow reader for %s', async (_, holders, waiter, isCut) => {
    const slots = new ConnectionSlots(holders.length);
    const cut: string[] = [];
    for (const key of holders) {
      const slot = await slots.take(key);
      slot.cut = () => {
        cut.push(slot.key);
        slots.free(slot);
      };
      if (key === 'a') slot.idleSince = performance.now();
    }
    const waiting = asked(slots, waiter);
    waiting.slot.catch(() => {});
    await jest.advanceTimersByTimeAsync(2900);
    expect(cut).toEqual([]);
    await jest.advanceTimersByTimeAsync(600);
    expect(cut).toEqual(isCut ? ['a'] : []);
    expect(waiting.isGiven).toBe(isCut);
  });
});
