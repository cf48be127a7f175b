import { isReady } from '../../injection/podspec/pod.ts';
import { PODS } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject, type ObjectKey } from '../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../kube/api/resource.ts';
import { type JsonValue, own, ownObjects, ownString, ownTexts } from '../../util/json.ts';
import { MULTUS_NETWORKS, MULTUS_STATUS, NETWORK_ANNOTATION, NETWORK_GATE } from '../api/names.ts';
import type { NetworkAccess } from './network-access.ts';
import { networksAskedFor } from './request.ts';
import {
  type AttachedTo,
  ipsOf,
  isNetworkKey,
  keptSelection,
  keyOfSelected,
  type Problem,
  parseNetworkStatus,
  parseSelection,
} from './selection.ts';

/** The most labels of a pod that a cache keeps. */
const MAX_LABELS = 64;

/** The cached part of a core/v1 Pod: what Networks need. */
export interface NetworkPod extends KubeObject {
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
  readonly asked?: string | Problem;
  readonly multus?: string | Problem;
}

/**
 * Pods, reduced to what Networks need, so that a cache stays small. Users can write any annotation, so a Network
 * counts only if pods of that namespace may use it.
 */
export function networkPods(access: NetworkAccess): Resource<NetworkPod> {
  return { ...PODS, decode: (value) => networkPod(value, access) };
}

function networkPod(value: unknown, access: NetworkAccess): NetworkPod {
  const object = decodeObject(value);
  const { namespace = '', annotations = {}, deletionTimestamp, labels } = object.metadata;
  const [spec, status] = [own(value, 'spec'), own(value, 'status')];
  const [nodeName, hostname] = [ownString(spec, 'nodeName'), ownString(spec, 'hostname')];
  const gate = gateIndex(value);
  const isGated = gate >= 0;
  const { [NETWORK_ANNOTATION]: asked, [MULTUS_NETWORKS]: named, [MULTUS_STATUS]: report } = annotations;
  const isAllowed = ({ network }: AttachedTo) => access.allows(namespace, network);
  const askedFor = networksAskedFor(asked, namespace, access);
  const multus = selectedOf(named, namespace).filter(isAllowed);
  const attachedTo = parseNetworkStatus(report, namespace).filter(isAllowed);
  const metadata = identityOf(object, 'creationTimestamp', 'deletionTimestamp');
  const placed = { metadata, ...(nodeName !== undefined && { nodeName }) };
  // Most pods of a cluster: a long list of them is held for a moment.
  if (!isGated && askedFor.length + multus.length + attachedTo.length === 0)
    return { ...WITHOUT_NETWORKS, ...placed };
  const asksFor = [...new Set([...askedFor, ...multus.map(({ network }) => network)])];
  const isAttached = (key: ObjectKey) => attachedTo.some(({ network }) => network === key);
  // Multus reports all interfaces before the kubelet reports the first one. A pod with hostNetwork gets none, and one
  // that goes needs none.
  const mayLack =
    ownString(status, 'podIP') !== undefined &&
    own(spec, 'hostNetwork') !== true &&
    deletionTimestamp === undefined;
  const unattached = mayLack ? asksFor.filter((key) => !isAttached(key)) : [];
  const lacks = multus.filter(
    ({ network, ips }) =>
      ips.length === 0 && !attachedTo.some((each) => each.network === network && each.ips.length > 0),
  );
  const only = isGated ? namedNodes(spec) : undefined;
  const selections = {
    ...(asked !== undefined && { asked: keptSelection(asked) }),
    ...(named !== undefined && { multus: keptSelection(named) }),
  };
  return {
    ...placed,
    ...(only && { namedNodes: only }),
    ...(isGated && { gate, selections }),
    asksFor,
    ...(unattached.length > 0 && { unattached }),
    attachedTo,
    labels: keptLabels(labels),
    isReady: isReady(value),
    ...(hostname !== undefined && { hostname }),
    selected: multus.filter(({ ips }) => ips.length > 0),
    lacks: isGated ? [] : [...new Set(lacks.map(({ network }) => network))],
  };
}

/** Users can write any number of labels. A Service of a Network finds no pod with more than these. */
function keptLabels(labels: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.keys(labels).length > MAX_LABELS ? {} : labels;
}

function selectedOf(text: string | undefined, podNamespace: string): readonly AttachedTo[] {
  const selection = text === undefined ? undefined : parseSelection(text, podNamespace);
  if (!selection || 'problem' in selection) return [];
  return selection.networks
    .map((selected) => ({ network: keyOfSelected(selected), ips: ipsOf(selected.element) }))
    .filter(({ network }) => isNetworkKey(network));
}

/** Whether the pod uses or waits for Networks. A cache keeps no other pods. */
export function isRelevant(pod: NetworkPod): boolean {
  return isGated(pod) || networksOf(pod).length > 0;
}

export function isGated({ gate }: NetworkPod): boolean {
  return gate !== undefined;
}

/** The place of the operator's scheduling gate in a pod; -1 without one. */
export function gateIndex(pod: unknown): number {
  return ownObjects(own(pod, 'spec'), 'schedulingGates').findIndex(({ name }) => name === NETWORK_GATE);
}

/** The addresses that the pod has or asks for on the Network. */
export function addressesOn({ selected, attachedTo }: NetworkPod, network: ObjectKey): ReadonlySet<string> {
  return new Set([...selected, ...attachedTo].flatMap((each) => (each.network === network ? each.ips : [])));
}

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

const HOSTNAME = 'kubernetes.io/hostname';
/** More names are not kept: then the pod counts as one for any node. */
const MAX_NAMES = 64;

/** The nodes on which alone the pod may run, as far as its spec names them; undefined if it names none. */
function namedNodes(spec: JsonValue | undefined): readonly string[] | undefined {
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
  return found && ownTexts(found, 'values');
}
