// tsc has already compiled src, hack and test to build/: jest runs that as ES modules.
export default {
  // The sources, too, so that a file of src/inject that no test loads counts as not covered.
  roots: ['<rootDir>/build/test', '<rootDir>/build/src/inject'],
  transform: {},
  // A bound, not an expectation: on a busy machine of two cores a control plane takes its time to start.
  testTimeout: 120_000,
  coverageProvider: 'v8',
  // Not the table that is generated: it would only make the figure look better.
  collectCoverageFrom: ['build/src/inject/**/*.js', '!build/src/inject/pod-schema.js'],
  coverageThreshold: { global: { lines: 95, branches: 95 } },
  coverageReporters: ['text-summary', 'html'],
  reporters: ['default', '<rootDir>/build/test/support/plain-reporter.js'],
};
