// tsc has already compiled src, hack and test to build/: jest runs that as ES modules.
export default {
  roots: ['<rootDir>/build/test'],
  transform: {},
  // A bound, not an expectation: on a busy machine of two cores a control plane takes its time to start.
  testTimeout: 120_000,
  coverageProvider: 'v8',
  coveragePathIgnorePatterns: ['/node_modules/', '/build/test/', '/build/hack/'],
  reporters: ['default', '<rootDir>/build/test/support/plain-reporter.js'],
};
