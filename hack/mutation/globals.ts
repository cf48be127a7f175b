/** What the suites import from `@jest/globals`, which jest provides only inside of jest: the same parts of it. */
export { expect } from 'expect';
export { describe, test } from 'jest-circus';
