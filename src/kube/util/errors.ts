import { readFile } from 'node:fs/promises';
import { inspect, types } from 'node:util';
import { isRecord } from '../../util/json.ts';

/** The user's input is invalid: a command prints this one line and exits with code 2. */
export class UsageError extends Error {}

/** The caught value as an Error. JavaScript can throw anything, and an Error of another realm fails `instanceof`. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error || types.isNativeError(thrown)) return thrown;
  return new Error(`expected an Error to be thrown, got ${inspect(thrown, { depth: 1 })}`, { cause: thrown });
}

const PROBLEMS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'the file does not exist'],
  ['EISDIR', 'it is a directory: pass the files in it'],
  ['EACCES', 'permission denied'],
]);

/** Why a file cannot be read, from the error of the file system. */
export function fileProblem(cause: unknown): string {
  return PROBLEMS.get(isRecord(cause) ? cause.code : undefined) ?? toError(cause).message;
}

/** The text of a file. Rejects with an error that names the file and the problem. */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read ${file}: ${fileProblem(cause)}`, { cause });
  }
}
