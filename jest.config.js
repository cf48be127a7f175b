// tsc has already compiled src, hack and test to build/: jest runs that as ES modules.
export default {
  roots: ['<rootDir>/build/test'],
  transform: {},
  coverageProvider: 'v8',
  coveragePathIgnorePatterns: ['/node_modules/', '/build/test/', '/build/hack/'],
  reporters: ['default', '<rootDir>/build/test/support/plain-reporter.js'],
};
