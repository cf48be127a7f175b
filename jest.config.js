// tsc has already compiled src, hack and test to build/: jest runs that as ES modules.
/** The modules without I/O. */
const pure = ['util', 'injection', 'addons/routes/compile', 'addons/manifests'];

export default {
  // The sources, too, so that a file of the pure modules that no test loads counts as not covered.
  roots: ['<rootDir>/build/test', ...pure.map((room) => `<rootDir>/build/src/${room}`)],
  transform: {},
  // For what hangs, and no expectation: on a busy machine nothing fails by the clock.
  testTimeout: 600_000,
  coverageProvider: 'v8',
  // Not the table that is generated: it would only make the figure look better.
  collectCoverageFrom: [
    ...pure.map((room) => `build/src/${room}/**/*.js`),
    '!build/src/injection/webhook/**',
    '!build/src/injection/podspec/schema/pod-schema.js',
    // Types alone.
  ],
  coverageThreshold: { global: { lines: 95, branches: 95 } },
  coverageReporters: ['text-summary', 'html'],
  reporters: ['default', '<rootDir>/build/test/support/jest/plain-reporter.js'],
};
