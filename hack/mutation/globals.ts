/** Replaces `@jest/globals`, which works only inside jest, with the same functions. */
export { expect } from 'expect';
export { describe, test } from 'jest-circus';
