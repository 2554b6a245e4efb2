import Sequencer from '@jest/test-sequencer';

/** Suites that take long though their files are small: begun last, they would keep one worker busy and the others idle. */
const LONG =
  /test\/(attack|backup|bodies|embedded-postgres|erasing|proof|restart|server|soak)\.e2e-spec\.ts$/;

/** Jest's order, which goes by the size of files where it has not seen a run yet, but for the suites above. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const [long, others] = [true, false].map((isLong) =>
      super.sort(tests.filter(({ path }) => LONG.test(path) === isLong)),
    );
    return [...long, ...others];
  }
}
