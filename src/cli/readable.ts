import { isForbidden, isNotFound } from '../kube/api/api-error.ts';

/** What was read; undefined if it does not exist. */
export async function absentIfMissing<T>(read: Promise<T>): Promise<T | undefined> {
  return await read.catch((err: unknown) => {
    if (!isNotFound(err)) throw err;
    return undefined;
  });
}

/** What was read; undefined if it does not exist, or the user may not read it. */
export async function ifReadable<T>(read: Promise<T>): Promise<T | undefined> {
  return await read.catch((err: unknown) => {
    if (!isNotFound(err) && !isForbidden(err)) throw err;
    return undefined;
  });
}
