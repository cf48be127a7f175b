import type { Duplex } from 'node:stream';
import type { Cluster } from '../../../cli/cluster.ts';
import type { ObjectRef } from '../../../kube/client/client.ts';
import { withTimeout } from '../../../kube/util/with-timeout.ts';
import { systemClock } from '../../../kube/workqueue/clock.ts';

/** Limit for one page, in milliseconds. */
const PAGE_MS = 3_000;

/**
 * The text of a page of a pod, by a connection as of `kubectl port-forward`, or why there is no connection.
 * @throws ApiError, TransportError of the pod itself.
 */
export async function podPage(
  { transport, timeoutMs = PAGE_MS }: Pick<Cluster, 'transport' | 'timeoutMs'>,
  pod: ObjectRef,
  port: number,
  path: string,
): Promise<{ readonly text: string } | { readonly failed: unknown }> {
  // Imported here, because the commands with files need no WebSocket.
  const { portForward, textOver } = await import('../../../kube/client/port-forward.ts');
  const what = `port-forward to pod ${pod.name}`;
  let connection: Duplex;
  try {
    const connect = (signal: AbortSignal) => portForward(transport, pod, port, signal);
    connection = await withTimeout(systemClock, timeoutMs, undefined, connect, what);
  } catch (failed) {
    return { failed };
  }
  const read = (signal: AbortSignal) => textOver(connection, path, signal);
  return { text: await withTimeout(systemClock, timeoutMs, undefined, read, what) };
}
