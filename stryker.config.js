/**
 * Mutation testing of the modules without I/O (`make mutation`): all mutants are compiled in one build and switched on one at a time,
 * each against the tests that reach it.
 */
export default {
  mutate: [
    'src/{util,injection,addons/routes/compile,addons/manifests}/**/*.ts',
    '!src/injection/webhook/**',
    '!src/injection/podspec/schema/pod-schema.ts',
  ],
  ignorePatterns: ['build', 'dist', 'out', 'coverage'],
  buildCommand: 'tsc',
  // tsc 7 has no API by which Stryker could rewrite it, and there is nothing to rewrite.
  tsconfigFile: 'none',
  plugins: ['./hack/mutation/test-runner.ts'],
  testRunner: 'circus',
  coverageAnalysis: 'perTest',
  // Modules that are loaded anew stay in memory.
  maxTestRunnerReuse: 400,
  tempDirName: 'out/mutation/sandbox',
  reporters: ['clear-text', 'html', 'json', 'progress-append-only'],
  htmlReporter: { fileName: 'out/mutation/index.html' },
  jsonReporter: { fileName: 'out/mutation/mutation.json' },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  thresholds: { high: 95, low: 85, break: 85 },
};
