import { leastAfterErasing, type DiskRoom, judgeRoom } from './disk-watch.js';

const MIB = 1024 * 1024;
const room = (freeMib: number, more: Partial<DiskRoom> = {}): DiskRoom => ({
  sizeBytes: 300 * MIB,
  freeBytes: freeMib * MIB,
  segmentBytes: 16 * MIB,
  segments: 2,
  ...more,
});

it.each([
  [300, 16, 96],
  [600, 16, 96],
  [600, 64, 384],
  [3000, 16, 150],
  [1_000_000, 16, 256],
])('on a disk of %i MiB with segments of %i MiB keeps %i MiB', (size, segment, reserve) => {
  const more = { sizeBytes: size * MIB, segmentBytes: segment * MIB };
  expect(judgeRoom(room(reserve, more), 'roomy', 0)).toBe('roomy');
  expect(judgeRoom(room(reserve - 1, more), 'roomy', 0)).toBe('full');
  expect(judgeRoom(room(1.5 * reserve - 1, more), 'full', 0)).toBe('full');
  expect(judgeRoom(room(1.5 * reserve, more), 'full', 0)).toBe('roomy');
});

it('takes writes into the room of erased rows as long as the disk fills up little', () => {
  const least = (freeMib: number) => leastAfterErasing(room(freeMib)) / MIB;
  expect([120, 88, 70, 56, 20].map(least)).toEqual([112, 112, 94, 80, 80]);
  const state = (freeMib: number, segments: number) =>
    judgeRoom(room(freeMib, { segments }), 'reusing', 94 * MIB);
  expect(state(62, 2)).toBe('reusing');
  expect(state(46, 3)).toBe('reusing');
  expect(state(61, 2)).toBe('full');
  expect(state(20, 10)).toBe('full');
  expect(state(144, 2)).toBe('roomy');
});
