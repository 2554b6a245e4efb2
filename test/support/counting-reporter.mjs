/** Prints one plain line with the totals at the end of a run. */
export default class CountingReporter {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `${results.numPassedTests} passed, ${failed} failed, ${results.numPendingTests} skipped`;
    process.once('exit', () => process.stdout.write(`${line}\n`));
  }
}
