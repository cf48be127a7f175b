/** The user's input is invalid: a command prints this one line and exits with code 2. */
export class UsageError extends Error {}
