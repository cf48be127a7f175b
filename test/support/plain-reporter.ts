/** What of jest's AggregatedResult is read here. */
interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numRuntimeErrorTestSuites: number;
}

/** Closes a jest run with the plain line `N passed, N failed` that CI adds up. */
export default class PlainReporter {
  onRunComplete(_: unknown, results: Results): void {
    // A suite that could not even load has no tests to count: it is one failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests > 0 ? `, ${results.numPendingTests} skipped` : '';
    process.stdout.write(`\n${results.numPassedTests} passed, ${failed} failed${skipped}\n`);
  }
}
