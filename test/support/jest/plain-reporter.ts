/** What of jest's AggregatedResult is read here. */
interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    readonly testResults: readonly {
      readonly title: string;
      readonly ancestorTitles: readonly string[];
    }[];
  }[];
}

/** Reports of coverage are still to be written. */
const PATIENCE_MS = 120_000;

/** Closes a jest run with what was skipped and why, and the plain line `N passed, N failed` that CI adds up. */
export default class PlainReporter {
  onRunComplete(_: unknown, results: Results): void {
    // Jest itself says nothing of a file all of whose tests are skipped.
    const titles = results.testResults
      .flatMap((file) => file.testResults)
      .flatMap(({ title, ancestorTitles }) => [...ancestorTitles, title])
      .filter((title) => title.includes('(skipped: '));
    for (const title of new Set(titles)) process.stdout.write(`\n○ ${title}`);
    // A suite that could not even load has no tests to count: it is one failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests > 0 ? `, ${results.numPendingTests} skipped` : '';
    process.stdout.write(`\n${results.numPassedTests} passed, ${failed} failed${skipped}\n`);
    endInAnyCase();
  }
}

/** A test that failed may have left something running for which jest would wait for ever, and CI with it. */
function endInAnyCase(): void {
  const end = () => {
    process.stderr.write(
      'what the tests have left running is given up: see above for the test that left it\n',
    );
    process.exit(1);
  };
  setTimeout(end, PATIENCE_MS).unref();
}
