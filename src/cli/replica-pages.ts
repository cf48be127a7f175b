import { isForbidden, TransportError } from '../kube/api/api-error.ts';
import { LIVE_PODS, PODS } from '../kube/api/core-resources.ts';
import { resourcePath } from '../kube/api/resource.ts';
import { toError } from '../kube/util/to-error.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { PROGRAM } from '../util/identity.ts';
import { isObject, type JsonValue, own, ownObjects, ownString } from '../util/json.ts';
import type { Cluster } from './cluster.ts';
import type { Installation } from './installation.ts';
import { PAGE_MS, podPage } from './pod-page.ts';

/** A pod of the operator. */
export interface Replica {
  readonly name: string;
  readonly ready: boolean;
  /** Why its container does not run, such as ImagePullBackOff; empty if it does. */
  readonly trouble: string;
}

const METRICS_PORT = '8080';

/**
 * The pages of replicas, such as /metrics. A connection as of `kubectl port-forward` fetches them, which no NetworkPolicy
 * forbids. Where there is none, the API server's proxy does, but for /debug.
 */
export class ReplicaPages {
  readonly #cluster: Pick<Cluster, 'client' | 'transport' | 'timeoutMs'>;
  readonly #namespace: string;
  readonly #port: string;

  constructor(
    cluster: Pick<Cluster, 'client' | 'transport' | 'timeoutMs'>,
    namespace: string,
    installation: Installation | undefined,
  ) {
    this.#cluster = cluster;
    this.#namespace = namespace;
    this.#port = installation?.flagText('metrics-port') ?? METRICS_PORT;
  }

  /** The pods, sorted by name, but for those that end or have ended. */
  async replicas(): Promise<readonly Replica[]> {
    const { items } = await this.#cluster.client.list(PODS, {
      namespace: this.#namespace,
      labelSelector: `app=${PROGRAM}`,
      fieldSelector: LIVE_PODS,
    });
    return items
      .filter(isObject)
      .filter((pod) => own(own(pod, 'metadata'), 'deletionTimestamp') === undefined)
      .map(toReplica)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The text of a page, such as `metrics`. @throws ApiError, TransportError; UsageError for a missing right. */
  async text(pod: string, page: string): Promise<string> {
    const ref = { namespace: this.#namespace, name: pod };
    const found = await podPage(this.#cluster, ref, Number(this.#port), `/${page}`);
    if ('text' in found) return found.text;
    try {
      return await this.#proxied(pod, page);
    } catch (error) {
      const { failed } = found;
      // The API server does not always name the right.
      if (isForbidden(failed))
        throw new UsageError(
          `you need the rights to create and get pods/portforward in namespace ${this.#namespace}`,
          { cause: failed },
        );
      const [forward, proxy] = [failed, error].map((each) => toError(each).message);
      throw new TransportError(`no port-forward (${forward}), no proxy (${proxy})`, 'ENOWAY', error);
    }
  }

  async #proxied(pod: string, page: string): Promise<string> {
    const { client, timeoutMs = PAGE_MS } = this.#cluster;
    const target = { namespace: this.#namespace, name: `${pod}:${this.#port}` };
    return await client.text(`${resourcePath(PODS, target, 'proxy')}/${page}`, { timeoutMs });
  }

  /** A page of JSON under /debug. @throws as text(); SyntaxError */
  async debug(pod: string, page: 'controllers' | 'template'): Promise<JsonValue> {
    return JSON.parse(await this.text(pod, `debug/${page}`));
  }
}

function toReplica(pod: JsonValue): Replica {
  const status = own(pod, 'status');
  const ready = ownObjects(status, 'conditions').some(
    (condition) => own(condition, 'type') === 'Ready' && own(condition, 'status') === 'True',
  );
  const reasons = ownObjects(status, 'containerStatuses').flatMap(
    (container) => ownString(own(own(container, 'state'), 'waiting'), 'reason') ?? [],
  );
  const trouble = ready ? '' : (reasons[0] ?? ownString(status, 'phase') ?? '');
  return { name: ownString(own(pod, 'metadata'), 'name') ?? '', ready, trouble };
}
