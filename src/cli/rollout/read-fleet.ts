import type { JsonObject } from '../../json/json.ts';
import { isForbidden } from '../../kube/api/api-error.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../kube/api/resource.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type Observed, observe } from '../../rollout/observe.ts';
import type { Keys } from '../../sidecar/keys.ts';
import { type NamespaceSettings, namespaceSettings } from '../../sidecar/namespace-settings.ts';
import type { Status } from '../../sidecar/status.ts';
import { namespacesByName, pages } from '../drift.ts';

/** A pod with a sidecar, read from the cluster. */
export interface FleetPod {
  readonly pod: KubeObject & JsonObject;
  readonly observed: Observed & { readonly status: Status };
  readonly namespace: NamespaceSettings;
  /** Its workload, such as `shop/ReplicaSet/web-5d8`; the pod itself if nothing controls it. */
  readonly workload: string;
}

/** Reads the pods with a sidecar that have not finished: of one namespace, or of all. */
export async function readFleet(
  client: KubeClient,
  keys: Keys,
  namespace: string | undefined,
): Promise<readonly FleetPod[]> {
  const namespaces = await namespacesByName(client, namespace);
  const found: FleetPod[] = [];
  for await (const each of pages(client, namespace)) {
    // Objects of the API are always JSON.
    const pod = each as KubeObject & JsonObject;
    const observed = observe(pod, keys);
    if (observed?.status === undefined) continue;
    const { name, namespace: of = '', ownerReferences = [] } = each.metadata;
    const owner = ownerReferences.find(({ controller }) => controller === true);
    found.push({
      pod,
      observed: { ...observed, status: observed.status },
      namespace: namespaceSettings(namespaces.get(of) ?? {}, keys),
      workload: `${of}/${owner ? `${owner.kind}/${owner.name}` : `Pod/${name}`}`,
    });
  }
  return found;
}

interface Node extends KubeObject {
  readonly status?: { readonly nodeInfo?: { readonly kubeletVersion?: string } };
}

const NODES: Resource<Node> = {
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
  decode: decodeObject,
};

/** The version of each node's kubelet; empty if the user may not list nodes. */
export async function kubeletVersions(client: KubeClient): Promise<ReadonlyMap<string, string>> {
  try {
    const { items } = await client.list(NODES, {});
    return new Map(
      items
        .map((item) => NODES.decode(item))
        .flatMap(({ metadata, status }) => {
          const version = status?.nodeInfo?.kubeletVersion;
          return version === undefined ? [] : [[metadata.name, version] as const];
        }),
    );
  } catch (err) {
    if (isForbidden(err)) return new Map();
    throw err;
  }
}
