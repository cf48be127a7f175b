import { isNotFound, isOvertaken } from '../../kube/api/api-error.ts';
import { apiVersionOf } from '../../kube/api/resource.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeClient, ObjectRef } from '../../kube/client/client.ts';
import { withoutFinalizer } from '../api/finalizer.ts';
import { FIELD_MANAGER, NETWORK_FINALIZER } from '../api/names.ts';
import { NETWORKS } from '../api/resources.ts';
import type { Network, NetworkStatus } from '../api/types.ts';

/** The write is based on an outdated copy, or the object is deleted: read it again and retry. */
export class StaleCopyError extends Error {
  override readonly name = 'StaleCopyError';
}

export interface NetworkWriterOptions {
  readonly client: Pick<KubeClient, 'mergePatch' | 'jsonPatch' | 'apply'>;
  readonly copies: MutationCache<Network>;
}

/**
 * Writes to a Network. Each write is tied to the copy that it is based on, changes only its own part, and returns the
 * new object.
 * @throws StaleCopyError if another client wrote in between.
 */
export class NetworkWriter {
  readonly #client: NetworkWriterOptions['client'];
  readonly #copies: MutationCache<Network>;

  constructor({ client, copies }: NetworkWriterOptions) {
    this.#client = client;
    this.#copies = copies;
  }

  addFinalizer(network: Network, signal: AbortSignal): Promise<Network> {
    const { resourceVersion, finalizers = [] } = network.metadata;
    // A merge patch replaces the whole list, so the resourceVersion protects finalizers of other controllers.
    const patch = { metadata: { resourceVersion, finalizers: [...finalizers, NETWORK_FINALIZER] } };
    const options = { fieldManager: FIELD_MANAGER, signal };
    return this.#written(this.#client.mergePatch(NETWORKS, refOf(network), patch, options));
  }

  removeFinalizer(network: Network, signal: AbortSignal): Promise<Network> {
    const operations = withoutFinalizer(network, NETWORK_FINALIZER);
    const options = { fieldManager: FIELD_MANAGER, signal };
    return this.#written(this.#client.jsonPatch(NETWORKS, refOf(network), operations, options));
  }

  writeStatus(network: Network, status: NetworkStatus, signal: AbortSignal): Promise<Network> {
    const { name, namespace, uid, resourceVersion } = network.metadata;
    const body = {
      apiVersion: apiVersionOf(NETWORKS),
      kind: NETWORKS.kind,
      metadata: { name, namespace, uid, resourceVersion },
      status,
    };
    const options = { fieldManager: FIELD_MANAGER, force: true, subresource: 'status', signal };
    return this.#written(this.#client.apply(NETWORKS, refOf(network), body, options));
  }

  async #written(write: Promise<Network>): Promise<Network> {
    try {
      return this.#copies.add(await write);
    } catch (cause) {
      if (!isOvertaken(cause) && !isNotFound(cause)) throw cause;
      throw new StaleCopyError('the Network was changed or deleted since it was read: read it again', {
        cause,
      });
    }
  }
}

function refOf({ metadata: { namespace, name } }: Network): ObjectRef {
  return { namespace, name };
}
