import { namespacesByName, pages } from '../../../cli/survey.ts';
import type { Keys } from '../../../injection/keys.ts';
import { type NamespaceSettings, namespaceSettings } from '../../../injection/namespace-settings.ts';
import type { Status } from '../../../injection/status.ts';
import { isForbidden } from '../../../kube/api/api-error.ts';
import { NODES } from '../../../kube/api/core-resources.ts';
import type { KubeObject } from '../../../kube/api/object.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { readServerVersion } from '../../../kube/client/server-version.ts';
import { isObject, type JsonObject, ownObjects, ownString } from '../../../util/json.ts';
import { type Observed, observe } from '../observe.ts';

/** A pod with a sidecar, read from the cluster. */
export interface FleetPod {
  readonly pod: KubeObject & JsonObject;
  readonly observed: Observed & { readonly status: Status };
  readonly namespace: NamespaceSettings;
}

/** Reads the pods with a sidecar that have not finished: of one namespace, or of all; with these labels. */
export async function readFleet(
  client: KubeClient,
  keys: Keys,
  namespace?: string,
  selector?: string,
): Promise<readonly FleetPod[]> {
  const namespaces = await namespacesByName(client, namespace);
  const { minor } = await readServerVersion(client);
  const found: FleetPod[] = [];
  for await (const each of pages(client, namespace, selector)) {
    // Objects of the API are always JSON.
    const pod = each as KubeObject & JsonObject;
    const observed = observe(pod, keys);
    if (observed?.status === undefined) continue;
    const { namespace: of = '' } = each.metadata;
    found.push({
      pod,
      observed: { ...observed, status: observed.status },
      namespace: namespaceSettings(namespaces.get(of) ?? {}, keys, minor),
    });
  }
  return found;
}

/** Whether the API server serves the subresource by which cpu and memory of a running pod change. */
export async function servesResize(client: KubeClient): Promise<boolean> {
  const answer = await client.request('GET', '/api/v1', {});
  const resources = ownObjects(isObject(answer) ? answer : {}, 'resources');
  return resources.some((each) => ownString(each, 'name') === 'pods/resize');
}

/** The version of each node's kubelet; empty if the user may not list nodes. */
export async function kubeletVersions(client: KubeClient): Promise<ReadonlyMap<string, string>> {
  try {
    const { items } = await client.list(NODES, {}, NODES.decode);
    return new Map(
      items.flatMap(({ metadata, status }) => {
        const version = status?.nodeInfo?.kubeletVersion;
        return version === undefined ? [] : [[metadata.name, version] as const];
      }),
    );
  } catch (err) {
    if (isForbidden(err)) return new Map();
    throw err;
  }
}
