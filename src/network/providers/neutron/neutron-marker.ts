import { PROGRAM } from '../../../json/own-names.ts';
import type { ObjectKey } from '../../../kube/api/object.ts';

/** Whose a network of Neutron is. */
export interface Owner {
  readonly key: ObjectKey;
  /** Of the Network. */
  readonly uid: string;
  /** Of the cluster: the UID of its namespace kube-system. Several clusters may share an OpenStack project. */
  readonly cluster: string;
}

/** For people: `openstack network list --tags envoy-initializer`. */
export const MANAGED_TAG = PROGRAM;
/** On a network that outlives its Network (`deletionPolicy: Retain`). */
export const RETAIN_TAG = 'samplecrd-retain';

/**
 * The description by which we know a network as ours. It is the one text of ours that Neutron takes in the same call
 * that creates, and filters by; at most 240 of its 255 characters.
 */
export function descriptionOf({ key, uid, cluster }: Owner): string {
  return `Kubernetes Network ${key}, uid ${uid}, cluster ${cluster}`;
}

/** The inverse of {@link descriptionOf}; undefined for every other text. */
export function ownerIn(description: string): Owner | undefined {
  const [, key, uid, cluster] =
    /^Kubernetes Network ([a-z0-9.-]+\/[a-z0-9.-]+), uid ([\w-]+), cluster ([\w-]+)$/.exec(description) ?? [];
  return key && uid && cluster ? { key, uid, cluster } : undefined;
}

/** A second mark, should somebody write over the description. */
export function uidTag(uid: string): string {
  return `samplecrd-uid=${uid}`;
}

export function isOwnTag(tag: string): boolean {
  return tag === MANAGED_TAG || tag === RETAIN_TAG || tag.startsWith('samplecrd-uid=');
}
