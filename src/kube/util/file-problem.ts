import { readFile } from 'node:fs/promises';
import { isRecord } from '../../util/json.ts';
import { toError } from './to-error.ts';

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
