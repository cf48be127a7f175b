import { ApiError, TransportError } from '../kube/api/api-error.ts';
import { KubeClient } from '../kube/client/client.ts';
import { usableKubeConfig } from '../kube/client/kubeconfig/load-config.ts';
import { Transport } from '../kube/client/transport.ts';
import { UsageError } from '../kube/util/errors.ts';
import { USER_AGENT } from '../kube/util/version.ts';
import { systemClock } from '../kube/workqueue/clock.ts';
import type { ConnectionOptions } from './options/tool-options.ts';

/** The API server, with the user's own credentials. */
export interface Cluster {
  readonly client: KubeClient;
  /** For connections to pods. */
  readonly transport: Pick<Transport, 'webSocket'>;
  /** Limit for one request, in milliseconds; undefined without `--request-timeout`. */
  readonly timeoutMs: number | undefined;
  /** The namespace of the kubeconfig's current context, as in kubectl. */
  readonly namespace: string;
}

/**
 * Calls `run` with a connection, and closes it. `instead` is further advice for those without one.
 * @throws UsageError of one line if the API server refuses a request or is not reachable.
 */
export async function withCluster<T>(
  options: ConnectionOptions,
  run: (cluster: Cluster) => Promise<T>,
  instead = '',
): Promise<T> {
  const config = usableKubeConfig(options, instead);
  const transport = new Transport(config, systemClock, USER_AGENT);
  try {
    const { requestTimeout: timeoutMs } = options;
    const client = new KubeClient({ transport, clock: systemClock, timeoutMs });
    const context = config.getContextObject(config.getCurrentContext());
    return await run({ client, transport, timeoutMs, namespace: context?.namespace ?? 'default' });
  } catch (cause) {
    if (cause instanceof ApiError)
      throw new UsageError(`the API server responded: ${cause.message}${advice(cause)}`, { cause });
    if (!(cause instanceof TransportError)) throw cause;
    const why = `${cause.message.replace(NODE_ADVICE, '')}: ${remedy(cause.code)}${instead}`;
    throw new UsageError(`cannot reach the API server: ${why}`, { cause });
  } finally {
    await transport.close();
  }
}

/** Node's advice about a certificate: flags of Node are none of this program. */
const NODE_ADVICE = '; if the root CA is installed locally, try running Node.js with --use-system-ca';

/** Kubernetes does not say why it refuses credentials. */
function advice({ status }: ApiError): string {
  return status === 401
    ? ': check the user in the kubeconfig, whose token or certificate may have expired'
    : '';
}

/** What to do about a request without an answer. The codes of TLS are those of Node and OpenSSL. */
function remedy(code: string): string {
  if (code === 'ECREDENTIALS') return 'check the user in the kubeconfig';
  if (/CERT|SIGNATURE|ERR_SSL|ERR_TLS/.test(code))
    return 'check server, certificate-authority and tls-server-name in the kubeconfig';
  return 'check that it is running, and that the context in the kubeconfig is right';
}
