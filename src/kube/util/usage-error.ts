/** What was given cannot be worked with: a command ends with exit code 2 and this one line. */
export class UsageError extends Error {}
