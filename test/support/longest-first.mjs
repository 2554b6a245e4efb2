import Sequencer from '@jest/test-sequencer';

/** Slow suites with small files. If they began last, one worker would be busy and the others idle. */
const LONG =
  /\/(access-matrix|attack|background|bodies|disk|embedded-postgres|live|proof|restart|server|soak|streams)\.(e2e|long)-spec\.ts$/;

/** Jest's order, with the suites above first. Without results of an earlier run, Jest sorts by file size. */
export default class LongestFirst extends Sequencer {
  async sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- of a sequencer, not of an array
    const ordered = await super.sort(tests);
    const isLong = ({ path }) => Number(LONG.test(path));
    return ordered.toSorted((a, b) => isLong(b) - isLong(a));
  }
}
