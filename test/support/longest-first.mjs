import Sequencer from '@jest/test-sequencer';

/** Suites that take long though their files are small: begun last, they would keep one worker busy and the others idle. */
const LONG =
  /\/(access-matrix|attack|background|bodies|disk|embedded-postgres|live|proof|restart|server|soak|streams)\.(e2e|long)-spec\.ts$/;

/** Jest's order, which goes by the size of files where it has not seen a run yet, but for the suites above. */
export default class LongestFirst extends Sequencer {
  async sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- of a sequencer, not of an array
    const ordered = await super.sort(tests);
    const isLong = ({ path }) => Number(LONG.test(path));
    return ordered.toSorted((a, b) => isLong(b) - isLong(a));
  }
}
