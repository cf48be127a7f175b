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
  /** The operator's own. */
  readonly namespace: string;
}

/**
 * Makes the operator's Namespace an owner of its webhook configurations, both of which are cluster-scoped: deleting the
 * namespace then takes along what would otherwise call a Service that is gone, and block pods.
 */
export class NamespaceOwner {
  readonly #client: NamespaceOwnerOptions['client'];
  readonly #namespace: string;

  constructor({ client, namespace }: NamespaceOwnerOptions) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /** Names the configurations that it has changed. Rejects with 403 without the right to delete them: see below. */
  async own(seen: readonly SeenConfiguration[], signal: AbortSignal): Promise<readonly string[]> {
    if (seen.length === 0) return [];
    const namespace = await this.#client.get(NAMESPACES, { name: this.#namespace }, { signal });
    const changed: string[] = [];
    for (const { resource, configuration } of seen) {
      const operations = ownerOperations(configuration, namespace);
      if (operations.length === 0) continue;
      const { name } = configuration.metadata;
      // The admission plugin OwnerReferencesPermissionEnforcement asks for the right to delete what gets an owner.
      await this.#client.jsonPatch(resource, { name }, [unchangedSince(configuration), ...operations], {
        fieldManager: CA_FIELD_MANAGER,
        signal,
      });
      changed.push(`${resource.kind}/${name}`);
    }
    return changed;
  }
}

/** Lets the namespace own the configurations; where the right to is missing, warns and goes on. */
export async function ownIfAllowed(
  owner: Pick<NamespaceOwner, 'own'>,
  seen: readonly SeenConfiguration[],
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  try {
    const owned = await owner.own(seen, signal);
    if (owned.length > 0) log.info({ configurations: owned }, 'owned by the namespace from now on');
  } catch (error) {
    if (!isForbidden(error)) throw error;
    log.warn({ err: error }, 'the namespace cannot own the webhooks: deleting it leaves them behind');
  }
}

/** What makes the namespace, in this life of it, an owner of the object beside the others that it has. */
export function ownerOperations(object: KubeObject, { metadata }: KubeObject): readonly Operation[] {
  const owners = object.metadata.ownerReferences ?? [];
  const { name, uid = '' } = metadata;
  if (owners.some((owner) => isNamespace(owner, name) && owner.uid === uid)) return [];
  const others = owners.filter((owner) => !isNamespace(owner, name));
  // Nothing blocks: foreground deletion of the namespace must not wait for the configuration.
  const value = [...others, { apiVersion: 'v1', kind: 'Namespace', name, uid }];
  return [{ op: 'add', path: '/metadata/ownerReferences', value }];
}

function isNamespace(owner: OwnerReference, name: string): boolean {
  return owner.apiVersion === 'v1' && owner.kind === 'Namespace' && owner.name === name;
}
