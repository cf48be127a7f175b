import { inspect, types } from 'node:util';

/** What was caught, as an Error: JavaScript can throw anything, and an Error of another realm is no `instanceof`. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error || types.isNativeError(thrown)) return thrown;
  return new Error(`expected an Error to be thrown, got ${inspect(thrown, { depth: 1 })}`, { cause: thrown });
}
