import type { Operation } from 'fast-json-patch';
import { identityOf, type KubeObject, type ObjectMeta } from '../../kube/api/object.ts';
import { decodeShape, kindOf, type Resource } from '../../kube/api/resource.ts';
import { SharedValues } from '../../kube/util/shared-values.ts';
import type { Fitting } from '../../util/shape.ts';
import { NETWORK_GROUP } from './names.ts';
import { NETWORK, type Network, type NetworkStatus } from './types.ts';

/** Networks, of crd/networks.yaml. */
export const NETWORKS: Resource<Network> = {
  ...kindOf(`${NETWORK_GROUP}/v1`, 'Network'),
  decode: (value) => decodeShape(value, NETWORK, 'Network'),
};

/** The same, also with a spec that an earlier CustomResourceDefinition let in, and which the operator cannot read. */
export const ANY_NETWORKS: Resource<Omit<Network, 'spec'>> = {
  ...NETWORKS,
  decode: (value) => decodeShape(value, { 'status?': NETWORK['status?'] }, 'Network'),
};

/** `config` is a CNI network configuration list, as JSON. */
const ATTACHMENT = { 'spec?': { 'config?': 'string' } } as const;

/** A network that Multus attaches pods to (Network Plumbing Working Group, multi-network specification v1.3). */
export type NetworkAttachmentDefinition = KubeObject & Fitting<typeof ATTACHMENT>;

/** The parts of an attachment that the operator owns. It does not touch other parts. */
export type WantedAttachment = NetworkAttachmentDefinition & {
  readonly metadata: Required<Pick<ObjectMeta, 'labels' | 'annotations' | 'finalizers' | 'ownerReferences'>>;
  readonly spec: { readonly config: string };
};

export const NETWORK_ATTACHMENT_DEFINITIONS: Resource<NetworkAttachmentDefinition> = {
  ...kindOf('k8s.cni.cncf.io/v1', 'NetworkAttachmentDefinition'),
  plural: 'network-attachment-definitions',
  decode: (value) => decodeShape(value, ATTACHMENT, 'NetworkAttachmentDefinition'),
};

/** What many Networks have in common is kept once: finalizers, the words of conditions, and nodes. */
const shared = new SharedValues();

/**
 * The part of a Network that a cache keeps. Labels and annotations can have hundreds of kilobytes, and the operator
 * does not read them. All finalizers stay, because adding one writes the whole list.
 */
export function cachedNetwork(network: Network): Network {
  const { finalizers } = network.metadata;
  return {
    metadata: {
      ...identityOf(network, 'generation', 'creationTimestamp', 'deletionTimestamp'),
      ...(finalizers !== undefined && { finalizers: shared.within(finalizers) }),
    },
    spec: network.spec,
    ...(network.status !== undefined && { status: sharedStatus(network.status) }),
  };
}

/** Each node is looked up as a whole: there can be thousands. */
function sharedStatus({ conditions, nodes, ...status }: NetworkStatus): NetworkStatus {
  return {
    ...status,
    ...(conditions !== undefined && { conditions: shared.within(conditions) }),
    ...(nodes !== undefined && { nodes: nodes.map((node) => shared.of(node)) }),
  };
}

export function hasFinalizer({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * The patch that removes one finalizer and keeps the others; empty if the object does not have it. It fails (422) if
 * the object is another one of the same name, or its finalizers changed in between.
 */
export function withoutFinalizer({ metadata }: KubeObject, finalizer: string): readonly Operation[] {
  const index = metadata.finalizers?.indexOf(finalizer) ?? -1;
  if (index < 0) return [];
  const path = `/metadata/finalizers/${index}`;
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path, value: finalizer },
    { op: 'remove', path },
  ];
}
