import { PODS } from '../../kube/api/core-resources.ts';
import type { KubeObject, ObjectKey } from '../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../kube/api/resource.ts';
import { isArray, isObject, type JsonValue, own, ownObjects } from '../../util/json.ts';
import { MULTUS_NETWORKS, MULTUS_STATUS, NETWORK_ANNOTATION, NETWORK_GATE } from '../api/names.ts';
import { networksAskedFor } from './attach.ts';
import type { NetworkAccess } from './network-access.ts';
import {
  type AttachedTo,
  isNetworkKey,
  keptIps,
  keptSelection,
  keyOfSelected,
  type Overlong,
  parseNetworkStatus,
  parseSelection,
} from './selection.ts';

/** The most labels of a pod that a cache keeps. */
const MAX_LABELS = 64;

/** The cached part of a core/v1 Pod: what Networks need. */
export interface NetworkPod extends KubeObject {
  /** The node of the pod. */
  readonly nodeName?: string;
  /** The index of the operator's scheduling gate; undefined without one. */
  readonly gate?: number;
  /** For a gated pod: the annotations that decide whether to remove the gate. */
  readonly selections?: Selections;
  /** Networks that one of the two annotations names and the pod may use. */
  readonly asksFor: readonly ObjectKey[];
  /** Networks to which Multus attached the pod, except its first interface and networks that it may not use. */
  readonly attachedTo: readonly AttachedTo[];
  /** The addresses that Multus' annotation has for it; for a gated pod, those that it asks for. */
  readonly selected: readonly AttachedTo[];
  /** What Services need: its labels, its readiness, and its name in DNS. */
  readonly labels: Readonly<Record<string, string>>;
  readonly isReady: boolean;
  readonly hostname?: string;
  /** Networks that it asks for and runs without: Multus did not attach it when its first interface was made. */
  readonly unattached?: readonly ObjectKey[];
  /** For a gated pod: the nodes on which alone it may run, as its spec names them. */
  readonly namedNodes?: readonly string[];
  /** For a pod without a gate: Networks in Multus' annotation that it has no address on. */
  readonly lacks: readonly ObjectKey[];
}

const WITHOUT_NETWORKS = {
  ...{ asksFor: [], attachedTo: [], selected: [], lacks: [], labels: {} },
  isReady: false,
};

/** The networks of a pod in the two annotations. */
interface Selections {
  /** From the operator's annotation. */
  readonly asked?: string | Overlong;
  /** From Multus' annotation. */
  readonly multus?: string | Overlong;
}

/**
 * Pods, reduced to what Networks need, so that a cache stays small. Users can write any annotation, so a Network
 * counts only if pods of that namespace may use it.
 */
export function networkPods(access: NetworkAccess): Resource<NetworkPod> {
  return { ...PODS, decode: (value) => networkPod(value, access) };
}

function networkPod(value: unknown, access: NetworkAccess): NetworkPod {
  const { metadata } = decodeObject(value);
  const { namespace = '', annotations } = metadata;
  const gate = gateOf(value);
  const spec = field(value, 'spec');
  const nodeName = field(spec, 'nodeName');
  const hostname = field(spec, 'hostname');
  const isAllowed = ({ network }: AttachedTo) => access.allows(namespace, network);
  const asked = networksAskedFor(annotations?.[NETWORK_ANNOTATION], namespace, access);
  const multus = selectedOf(annotations?.[MULTUS_NETWORKS], namespace).filter(isAllowed);
  const attachedTo = parseNetworkStatus(annotations?.[MULTUS_STATUS], namespace).filter(isAllowed);
  const isAttached = (network: ObjectKey) =>
    attachedTo.some((each) => each.network === network && each.ips.length > 0);
  const lacks = multus.filter(({ network, ips }) => ips.length === 0 && !isAttached(network));
  // Most pods of a cluster: a long list of them is held for a moment.
  if (gate < 0 && asked.length + multus.length + attachedTo.length === 0)
    return {
      ...WITHOUT_NETWORKS,
      metadata: identity(metadata),
      ...(typeof nodeName === 'string' && { nodeName }),
    };
  const asksFor = [...new Set([...asked, ...multus.map(({ network }) => network)])];
  const unattached = mayLack(value, metadata)
    ? asksFor.filter((key) => !attachedTo.some(({ network }) => network === key))
    : [];
  const only = gate < 0 ? undefined : namedNodes(isObject(spec) ? spec : undefined);
  return {
    metadata: identity(metadata),
    ...(only && { namedNodes: only }),
    ...(gate >= 0 && { gate, selections: selectionsOf(annotations) }),
    ...(typeof nodeName === 'string' && { nodeName }),
    asksFor,
    ...(unattached.length > 0 && { unattached }),
    attachedTo,
    labels: keptLabels(metadata.labels),
    isReady: isReady(value),
    ...(typeof hostname === 'string' && { hostname }),
    selected: multus.filter(({ ips }) => ips.length > 0),
    lacks: gate >= 0 ? [] : [...new Set(lacks.map(({ network }) => network))],
  };
}

function identity({
  name,
  namespace = '',
  uid = '',
  ...metadata
}: KubeObject['metadata']): KubeObject['metadata'] {
  const { resourceVersion = '', creationTimestamp, deletionTimestamp } = metadata;
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
  };
}

/** Users can write any number of labels. A Service of a Network finds no pod with more than these. */
function keptLabels(labels: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.keys(labels).length > MAX_LABELS ? {} : labels;
}

/**
 * Whether it has its first interface, and could have others: Multus reports all before the kubelet reports that one. A pod
 * with hostNetwork gets none, and one that goes needs none.
 */
function mayLack(pod: unknown, { deletionTimestamp }: KubeObject['metadata']): boolean {
  return (
    typeof field(field(pod, 'status'), 'podIP') === 'string' &&
    field(field(pod, 'spec'), 'hostNetwork') !== true &&
    deletionTimestamp === undefined
  );
}

function isReady(pod: unknown): boolean {
  const conditions = field(field(pod, 'status'), 'conditions');
  return (
    Array.isArray(conditions) &&
    conditions.some((each) => field(each, 'type') === 'Ready' && field(each, 'status') === 'True')
  );
}

function selectedOf(text: string | undefined, podNamespace: string): readonly AttachedTo[] {
  const selection = text === undefined ? undefined : parseSelection(text, podNamespace);
  if (!selection || 'problem' in selection) return [];
  return selection.networks
    .map((selected) => ({ network: keyOfSelected(selected), ips: keptIps(own(selected.element, 'ips')) }))
    .filter(({ network }) => isNetworkKey(network));
}

function selectionsOf(annotations: KubeObject['metadata']['annotations'] = {}): Selections {
  const { [NETWORK_ANNOTATION]: asked, [MULTUS_NETWORKS]: multus } = annotations;
  return {
    ...(asked !== undefined && { asked: keptSelection(asked) }),
    ...(multus !== undefined && { multus: keptSelection(multus) }),
  };
}

/** Whether the pod uses or waits for Networks. A cache keeps no other pods. */
export function isRelevant(pod: NetworkPod): boolean {
  return isGated(pod) || networksOf(pod).length > 0;
}

/** Whether it still waits for its Networks. */
export function isGated({ gate }: NetworkPod): boolean {
  return gate !== undefined;
}

/** The addresses that the pod has or asks for on the Network. */
export function addressesOn({ selected, attachedTo }: NetworkPod, network: ObjectKey): ReadonlySet<string> {
  return new Set([...selected, ...attachedTo].flatMap((each) => (each.network === network ? each.ips : [])));
}

/** Networks that the pod names, or is attached to. */
export function networksOf(pod: NetworkPod | undefined): readonly ObjectKey[] {
  const { asksFor = [], attachedTo = [] } = pod ?? {};
  return [...new Set([...asksFor, ...attachedTo.map(({ network }) => network)])];
}

/**
 * Indexers for caches: `user` finds the pods that use a Network, `gated` those that wait for it, `lacking` those without an
 * address on it, `unattached` those that run without their interface on it, `node` those on a node, and `named` those that may run
 * only on it or a few others.
 */
export const POD_INDEXERS = {
  user: (pod: NetworkPod) => (isGated(pod) ? [] : networksOf(pod)),
  gated: (pod: NetworkPod) => (isGated(pod) ? networksOf(pod) : []),
  lacking: ({ lacks }: NetworkPod) => lacks,
  unattached: ({ unattached = [] }: NetworkPod) => unattached,
  named: ({ namedNodes: nodes = [] }: NetworkPod) => nodes,
  node: ({ nodeName }: NetworkPod) => (nodeName === undefined ? [] : [nodeName]),
};

function gateOf(pod: unknown): number {
  const gates = field(field(pod, 'spec'), 'schedulingGates');
  return Array.isArray(gates) ? gates.findIndex((gate) => field(gate, 'name') === NETWORK_GATE) : -1;
}

function field(object: unknown, key: string): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, key) : undefined;
}

const HOSTNAME = 'kubernetes.io/hostname';
/** More names are not kept: then the pod counts as one for any node. */
const MAX_NAMES = 64;

/** The nodes on which alone the pod may run, as far as its spec names them; undefined if it names none. */
export function namedNodes(spec: JsonValue | undefined): readonly string[] | undefined {
  const host = own(own(spec, 'nodeSelector'), HOSTNAME);
  if (typeof host === 'string') return [host];
  const affinity = own(
    own(own(spec, 'affinity'), 'nodeAffinity'),
    'requiredDuringSchedulingIgnoredDuringExecution',
  );
  const terms = ownObjects(affinity, 'nodeSelectorTerms').map(namesIn);
  const names = terms.flatMap((each) => each ?? []);
  return terms.length > 0 && terms.every((each) => each !== undefined) && names.length <= MAX_NAMES
    ? names
    : undefined;
}

/** Terms are alternatives, and what is in one must hold together. */
function namesIn(term: JsonValue): readonly string[] | undefined {
  const found = [
    ...ownObjects(term, 'matchFields').filter(({ key }) => key === 'metadata.name'),
    ...ownObjects(term, 'matchExpressions').filter(({ key }) => key === HOSTNAME),
  ].find(({ operator }) => operator === 'In');
  const values = isObject(found) ? found.values : undefined;
  return isArray(values) ? values.filter((value) => typeof value === 'string') : undefined;
}
