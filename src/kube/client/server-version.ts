import { ownString } from '../../util/json.ts';
import { isForbidden } from '../api/api-error.ts';
import type { KubeClient } from './client.ts';

/** The version of an API server. */
export interface ServerVersion {
  /** Such as `v1.36.3`; `unknown` if the answer has none, or may not be read. */
  readonly gitVersion: string;
  /** The 36 of Kubernetes 1.36; undefined if the answer has none. */
  readonly minor: number | undefined;
}

/** The minor version of the API server, which an upgrade changes. */
export interface ServerMinor {
  /** Undefined if it is unknown. */
  current(): number | undefined;
  /** Calls the listener after each change, with the minor version before. */
  onChanged(listener: (before: number | undefined) => void): void;
}

/**
 * Asks the API server for its version. During an upgrade it may emulate an older one (KEP-4330): then `minor` is that of
 * the older one.
 */
export async function readServerVersion(
  client: Pick<KubeClient, 'request'>,
  signal?: AbortSignal,
): Promise<ServerVersion> {
  const answer = await client.request('GET', '/version', { signal }).catch((err: unknown) => {
    if (!isForbidden(err)) throw err;
  });
  const gitVersion = ownString(answer, 'gitVersion') || 'unknown';
  const [, real] = /^v1\.(\d+)\./.exec(gitVersion) ?? [];
  const [emulated] = /^\d+/.exec(ownString(answer, 'emulationMinor') ?? '') ?? [];
  const minor = emulated ?? real;
  return { gitVersion, minor: minor === undefined ? undefined : Number(minor) };
}
