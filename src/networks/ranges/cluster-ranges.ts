import { ENDPOINT_SLICES, NODES } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject } from '../../kube/api/object.ts';
import { decodeObject, kindOf, type Resource } from '../../kube/api/resource.ts';
import { waitForSync } from '../../kube/cache/informer.ts';
import { informerIfServed } from '../../kube/manager/if-served.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Task } from '../../kube/util/task-group.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, ownObjects } from '../../util/json.ts';
import { formatRange, formatShort, type Range, readRange } from './cidr.ts';
import { RangeTree } from './range-tree.ts';

/** A range that the cluster uses for something other than Networks. */
export interface ClusterRange {
  readonly range: Range;
  /** The user of the range in messages: `the pods on node n1`. */
  readonly of: string;
}

/** Gets the previous and the new ranges of a user of ranges. */
export type OnClusterRanges = (of: string, changed: readonly Range[]) => void;

/** Ranges that Networks must not overlap: of nodes, pods, Services, the API server and `--cluster-cidrs`. */
export class ClusterRanges {
  readonly #tree = new RangeTree<ClusterRange>();
  readonly #byUser = new Map<string, readonly ClusterRange[]>();
  readonly #handlers: OnClusterRanges[] = [];

  onChange(handler: OnClusterRanges): void {
    this.#handlers.push(handler);
  }

  /** Replaces the ranges and addresses of `of`. Ignores other texts. */
  set(of: string, texts: readonly string[]): void {
    const before = this.#byUser.get(of) ?? [];
    const after = texts.flatMap((text) => {
      const range = readRange(text);
      return range ? [{ range, of }] : [];
    });
    if (textOf(before) === textOf(after)) return;
    for (const known of before) this.#tree.delete(known.range, known);
    for (const known of after) this.#tree.add(known.range, known);
    if (after.length === 0) this.#byUser.delete(of);
    else this.#byUser.set(of, after);
    const changed = [...before, ...after].map(({ range }) => range);
    for (const handler of this.#handlers) handler(of, changed);
  }

  /** A cluster range that overlaps the range. Prefers the one of `preferred`, so that messages stay the same. */
  met(range: Range, preferred?: string): ClusterRange | undefined {
    let first: ClusterRange | undefined;
    for (const met of this.#tree.overlapping(range)) {
      if (preferred === undefined || met.of === preferred) return met;
      first ??= met;
    }
    return first;
  }
}

/** `10.1.0.0/16 overlaps 10.1.0.7 of node n1`. */
export function overlapText(cidr: string, { range, of }: ClusterRange): string {
  return `${cidr} overlaps ${formatShort(range)} of ${of}`;
}

function textOf(ranges: readonly ClusterRange[]): string {
  return ranges.map(({ range }) => formatRange(range)).join();
}

/** The EndpointSlice of the API servers. */
const API_SERVER = { namespace: 'default', fieldSelector: 'metadata.name=kubernetes' };

/**
 * Watches the ranges of Services and of the API server. Returns what resolves when all available ones are known, or the
 * signal aborts.
 */
export function rangeSources(manager: Manager, ranges: ClusterRanges): Task {
  // Before Kubernetes 1.33, ServiceCIDRs do not exist.
  const services = informerIfServed(manager, SERVICE_CIDRS);
  const apiServer = manager.informer(ENDPOINT_ADDRESSES, API_SERVER);
  for (const [of, informer] of [
    ['the Services', services.informer],
    ['the API server', apiServer],
  ] as const) {
    const changed = () =>
      ranges.set(
        of,
        informer.lister.list().flatMap(({ cidrs }) => cidrs),
      );
    informer.addEventHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
  }
  return (signal) => Promise.all([services.known(signal), waitForSync([apiServer], signal)]);
}

/** The cached part of an object that has address ranges. */
export interface RangeHolder extends KubeObject {
  readonly cidrs: readonly string[];
}

/** The part of core/v1 Node that Networks need. */
export interface ClusterNode extends RangeHolder {
  readonly addresses: readonly string[];
  /** Whether its kubelet does not respond: what the node ran may still run. */
  readonly isAway: boolean;
  readonly isCordoned: boolean;
  /** Whether only pods with a toleration may be scheduled there. The taints of conditions, such as not-ready, do not count. */
  readonly isTainted: boolean;
}

export const CLUSTER_NODES: Resource<ClusterNode> = { ...NODES, decode: clusterNode };

/** networking.k8s.io/v1 ServiceCIDR, of Kubernetes 1.33 and newer. */
export const SERVICE_CIDRS: Resource<RangeHolder> = {
  ...kindOf('networking.k8s.io/v1', 'ServiceCIDR', false),
  decode: (value) => ({
    metadata: identityOf(decodeObject(value)),
    cidrs: stringsOf(own(own(jsonOf(value), 'spec'), 'cidrs')),
  }),
};

/** discovery.k8s.io/v1 EndpointSlice. Its addresses are ranges of one address. */
export const ENDPOINT_ADDRESSES: Resource<RangeHolder> = {
  ...ENDPOINT_SLICES,
  decode: (value) => ({
    metadata: identityOf(decodeObject(value)),
    cidrs: ownObjects(jsonOf(value), 'endpoints').flatMap(({ addresses }) => stringsOf(addresses)),
  }),
};

function clusterNode(value: unknown): ClusterNode {
  const [spec, status] = ['spec', 'status'].map((key) => own(jsonOf(value), key));
  const internal = ownObjects(status, 'addresses').filter(({ type }) => type === 'InternalIP');
  return {
    metadata: identityOf(decodeObject(value)),
    cidrs: stringsOf(own(spec, 'podCIDRs')),
    addresses: internal.map(({ address }) => String(address)),
    isAway: ownObjects(status, 'conditions').some((each) => each.type === 'Ready' && each.status !== 'True'),
    isCordoned: own(spec, 'unschedulable') === true,
    isTainted: ownObjects(spec, 'taints').some(
      ({ key, effect }) =>
        (effect === 'NoSchedule' || effect === 'NoExecute') && !String(key).startsWith('node.kubernetes.io/'),
    ),
  };
}

function jsonOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function stringsOf(value: JsonValue | undefined): readonly string[] {
  return isArray(value) ? value.map(String) : [];
}
