import type { Operation } from 'fast-json-patch';
import { isForbidden } from '../kube/api/api-error.ts';
import { NAMESPACES } from '../kube/api/core-resources.ts';
import type { KubeObject, OwnerReference } from '../kube/api/object.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Logger } from '../kube/util/log.ts';
import { type SeenConfiguration, unchangedSince } from './ca-bundle.ts';
import { CA_FIELD_MANAGER } from './names.ts';

export interface NamespaceOwnerOptions {
  readonly client: Pick<KubeClient, 'get' | 'jsonPatch'>;
  /** The operator's namespace. */
  readonly namespace: string;
}

/**
 * Makes the operator's Namespace an owner of its webhook configurations (all are cluster-scoped). Deleting the
 * namespace then deletes them, too. Otherwise they would call a deleted Service and block pods.
 */
export class NamespaceOwner {
  readonly #client: NamespaceOwnerOptions['client'];
  readonly #namespace: string;

  constructor({ client, namespace }: NamespaceOwnerOptions) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /** Returns the configurations that it changed. Rejects with 403 without the right to delete them: see below. */
  async own(seen: readonly SeenConfiguration[], signal: AbortSignal): Promise<readonly string[]> {
    if (seen.length === 0) return [];
    const namespace = await this.#client.get(NAMESPACES, { name: this.#namespace }, { signal });
    const changed: string[] = [];
    for (const { resource, configuration } of seen) {
      const operations = ownerOperations(configuration, namespace);
      if (operations.length === 0) continue;
      const { name } = configuration.metadata;
      // The admission plugin OwnerReferencesPermissionEnforcement requires the right to delete the owned object.
      await this.#client.jsonPatch(resource, { name }, [unchangedSince(configuration), ...operations], {
        fieldManager: CA_FIELD_MANAGER,
        signal,
      });
      changed.push(`${resource.kind}/${name}`);
    }
    return changed;
  }
}

/** Makes the namespace own the configurations. If the right is missing, only warns. */
export async function ownIfAllowed(
  owner: Pick<NamespaceOwner, 'own'>,
  seen: readonly SeenConfiguration[],
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  try {
    const owned = await owner.own(seen, signal);
    if (owned.length > 0)
      log.info({ configurations: owned }, 'webhook configurations owned by the namespace');
  } catch (error) {
    if (!isForbidden(error)) throw error;
    log.warn(
      { err: error },
      'cannot make the namespace own the webhook configurations: deleting it leaves them behind',
    );
  }
}

/** The operations that add the namespace, with its current UID, to the owners of the object. */
export function ownerOperations(object: KubeObject, { metadata }: KubeObject): readonly Operation[] {
  const owners = object.metadata.ownerReferences ?? [];
  const { name, uid = '' } = metadata;
  if (owners.some((owner) => isNamespace(owner, name) && owner.uid === uid)) return [];
  const others = owners.filter((owner) => !isNamespace(owner, name));
  // Without blockOwnerDeletion: deleting the namespace in the foreground must not wait for the configuration.
  const value = [...others, { apiVersion: 'v1', kind: 'Namespace', name, uid }];
  return [{ op: 'add', path: '/metadata/ownerReferences', value }];
}

function isNamespace(owner: OwnerReference, name: string): boolean {
  return owner.apiVersion === 'v1' && owner.kind === 'Namespace' && owner.name === name;
}
