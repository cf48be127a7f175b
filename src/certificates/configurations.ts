import type { Operation } from 'fast-json-patch';
import { isForbidden } from '../kube/api/api-error.ts';
import {
  LIVE_PODS,
  NAMESPACES,
  POD_METADATA,
  type WebhookConfiguration,
} from '../kube/api/core-resources.ts';
import type { KubeObject, OwnerReference } from '../kube/api/object.ts';
import type { Resource } from '../kube/api/resource.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Logger } from '../kube/util/log.ts';
import { PROGRAM } from '../util/identity.ts';
import { own, ownString } from '../util/json.ts';

/** The operator's field manager for the caBundle and the owner of webhook configurations. */
const CA_FIELD_MANAGER = 'envoy-initializer-ca';

/** One of our webhook configurations as the cache had it. */
export interface SeenConfiguration {
  readonly resource: Resource<WebhookConfiguration>;
  readonly configuration: WebhookConfiguration;
}

/**
 * Patches each configuration for which there are operations, and returns their names. Rejects with a conflict if one
 * has changed since it was seen: its webhooks may have another order.
 */
export async function patchSeen(
  client: Pick<KubeClient, 'jsonPatch'>,
  seen: readonly SeenConfiguration[],
  operationsFor: (configuration: WebhookConfiguration) => readonly Operation[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const patches = seen
    .map((target) => ({ ...target, operations: operationsFor(target.configuration) }))
    .filter(({ operations }) => operations.length > 0);
  for (const { resource, configuration, operations } of patches) {
    const { name, resourceVersion } = configuration.metadata;
    const unchanged: Operation = { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion };
    const options = { fieldManager: CA_FIELD_MANAGER, signal };
    await client.jsonPatch(resource, { name }, [unchanged, ...operations], options);
  }
  return patches.map(({ resource, configuration }) => `${resource.kind}/${configuration.metadata.name}`);
}

/**
 * Makes the operator's Namespace, by its name, an owner of the webhook configurations (cluster-scoped). Deleting the
 * namespace then deletes them, too. Otherwise they would call a deleted Service and block pods. Only warns without the
 * right to delete them, which the admission plugin OwnerReferencesPermissionEnforcement requires.
 */
export async function ownConfigurations(
  client: Pick<KubeClient, 'get' | 'jsonPatch'>,
  log: Logger,
  name: string,
  seen: readonly SeenConfiguration[],
  signal: AbortSignal,
): Promise<void> {
  if (seen.length === 0) return;
  try {
    const namespace = await client.get(NAMESPACES, { name }, { signal });
    const operationsFor = (each: KubeObject) => ownerOperations(each, namespace);
    const configurations = await patchSeen(client, seen, operationsFor, signal);
    if (configurations.length > 0) log.info({ configurations }, 'namespace now owns webhook configurations');
  } catch (err) {
    if (!isForbidden(err)) throw err;
    log.warn(
      { err },
      'cannot make the namespace own the webhook configurations: deleting it leaves them behind',
    );
  }
}

/** The operations that add the namespace, with its current UID, to the owners of the object. */
export function ownerOperations(object: KubeObject, { metadata }: KubeObject): readonly Operation[] {
  const owners = object.metadata.ownerReferences ?? [];
  const { name, uid = '' } = metadata;
  const isNamespace = (owner: OwnerReference) =>
    owner.apiVersion === 'v1' && owner.kind === 'Namespace' && owner.name === name;
  if (owners.some((owner) => isNamespace(owner) && owner.uid === uid)) return [];
  const others = owners.filter((owner) => !isNamespace(owner));
  // Without blockOwnerDeletion: deleting the namespace in the foreground must not wait for the configuration.
  const value = [...others, { apiVersion: 'v1', kind: 'Namespace', name, uid }];
  return [{ op: 'add', path: '/metadata/ownerReferences', value }];
}

/**
 * Whether replicas of more than one pod template exist: during a rollout, they may serve certificates of different
 * authorities. Reads from the API server, because a cache may lack the newest replica.
 */
export async function isRollingOut(
  client: Pick<KubeClient, 'list'>,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean> {
  const selection = { namespace, labelSelector: `app=${PROGRAM}`, fieldSelector: LIVE_PODS, signal };
  // The label that the Deployment's controller gives all pods of one template.
  const templateHash = (pod: unknown) => ownString(own(own(pod, 'metadata'), 'labels'), 'pod-template-hash');
  const { items } = await client.list(POD_METADATA, selection, templateHash);
  return new Set(items).size > 1;
}
