import { inspect, types } from 'node:util';

/** The caught value as an Error. JavaScript can throw anything, and an Error of another realm fails `instanceof`. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error || types.isNativeError(thrown)) return thrown;
  return new Error(`expected an Error to be thrown, got ${inspect(thrown, { depth: 1 })}`, { cause: thrown });
}
