// tsc has already compiled src, hack and test to build/: jest runs that as ES modules.
/** The rooms without I/O. */
const pure = ['json', 'podspec', 'routing', 'sidecar'];

export default {
  // The sources, too, so that a file of the pure rooms that no test loads counts as not covered.
  roots: ['<rootDir>/build/test', ...pure.map((room) => `<rootDir>/build/src/${room}`)],
  transform: {},
  // For what hangs, and no expectation: on a busy machine nothing fails by the clock.
  testTimeout: 600_000,
  coverageProvider: 'v8',
  // Not the table that is generated: it would only make the figure look better.
  collectCoverageFrom: [
    ...pure.map((room) => `build/src/${room}/**/*.js`),
    '!build/src/podspec/schema/pod-schema.js',
    // Types alone.
    '!build/src/routing/{http-route,model}.js',
  ],
  coverageThreshold: { global: { lines: 95, branches: 95 } },
  coverageReporters: ['text-summary', 'html'],
  reporters: ['default', '<rootDir>/build/test/support/jest/plain-reporter.js'],
};
