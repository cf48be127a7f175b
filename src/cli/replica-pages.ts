import { isObject, type JsonValue, own, ownObjects, ownString } from '../json/json.ts';
import { PROGRAM } from '../json/own-names.ts';
import { PODS } from '../kube/api/core-resources.ts';
import { resourcePath } from '../kube/api/resource.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Installation } from './installation.ts';

/** A pod of the operator. */
export interface Replica {
  readonly name: string;
  readonly ready: boolean;
  /** Why its container does not run, such as ImagePullBackOff; empty if it does. */
  readonly trouble: string;
}

const METRICS_PORT = '8080';
/** Limit for one page, in milliseconds: a NetworkPolicy may drop what the API server sends to a replica. */
const PAGE_MS = 3_000;

/** The pages of replicas, such as /metrics, which the API server's proxy fetches from their pods. */
export class ReplicaPages {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #port: string;

  constructor(client: KubeClient, namespace: string, installation: Installation | undefined) {
    this.#client = client;
    this.#namespace = namespace;
    this.#port = installation?.flagText('metrics-port') ?? METRICS_PORT;
  }

  /** The pods, sorted by name. */
  async replicas(): Promise<readonly Replica[]> {
    const { items } = await this.#client.list(PODS, {
      namespace: this.#namespace,
      labelSelector: `app=${PROGRAM}`,
    });
    return items
      .flatMap((item) => (isObject(item) ? [toReplica(item)] : []))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The text of a page, such as `metrics`. @throws ApiError, TransportError */
  async text(pod: string, page: string): Promise<string> {
    const target = { namespace: this.#namespace, name: `${pod}:${this.#port}` };
    return await this.#client.text(`${resourcePath(PODS, target, 'proxy')}/${page}`, { timeoutMs: PAGE_MS });
  }

  /** A page of JSON under /debug. @throws ApiError, TransportError, SyntaxError */
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
