import type { ObjectKey } from '../../kube/api/object.ts';
import { PROGRAM } from '../../util/identity.ts';

export interface Owner {
  readonly key: ObjectKey;
  readonly uid: string;
  /** ID of the cluster: the UID of its namespace kube-system. Several clusters may share an OpenStack project. */
  readonly cluster: string;
}

/** A tag for people: `openstack network list --tags envoy-initializer`. */
export const MANAGED_TAG = PROGRAM;
/** The tag of a network that outlives its Network (`deletionPolicy: Retain`). */
export const RETAIN_TAG = 'samplecrd-retain';

/**
 * The description that marks a network as the operator's. Neutron accepts it in the creating call and can filter by
 * it. It has at most 240 of 255 characters.
 */
export function descriptionOf({ key, uid, cluster }: Owner): string {
  return `Kubernetes Network ${key}, uid ${uid}, cluster ${cluster}`;
}

/** The inverse of {@link descriptionOf}; undefined for any other text. */
export function ownerIn(description: string): Owner | undefined {
  const [, key, uid, cluster] =
    /^Kubernetes Network ([a-z0-9.-]+\/[a-z0-9.-]+), uid ([\w-]+), cluster ([\w-]+)$/.exec(description) ?? [];
  return key && uid && cluster ? { key, uid, cluster } : undefined;
}

/** A second mark, in case a user overwrites the description. */
export function uidTag(uid: string): string {
  return `samplecrd-uid=${uid}`;
}

export function isOwnTag(tag: string): boolean {
  return tag === MANAGED_TAG || tag === RETAIN_TAG || tag.startsWith('samplecrd-uid=');
}
