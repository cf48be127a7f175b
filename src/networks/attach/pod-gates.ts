import type { Operation } from 'fast-json-patch';
import { ifFound, isNotFound, isOvertaken } from '../../kube/api/api-error.ts';
import { PODS } from '../../kube/api/core-resources.ts';
import { keyOf, type ObjectKey, refOf } from '../../kube/api/object.ts';
import { regardingOf } from '../../kube/api/resource.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Reconcile, Result } from '../../kube/controller/controller.ts';
import type { EventDetails, EventRecorder } from '../../kube/events/events.ts';
import { pointer } from '../../util/patch.ts';
import type { IpamState } from '../addresses/ipam-state.ts';
import { MULTUS_NETWORKS, NETWORK_ANNOTATION, NETWORK_GATE } from '../api/names.ts';
import type { NetworkState } from '../controller/provider-registry.ts';
import type { NetworkNodes } from '../nodes/network-nodes.ts';
import type { NetworkAccess } from '../pods/network-access.ts';
import { isGated, type NetworkPod } from '../pods/network-pods.ts';
import { parseRequest } from '../pods/request.ts';
import { keyOfSelected, mergeNetworks } from '../pods/selection.ts';
import type { Refusal } from '../providers.ts';
import type { NetworkUsers } from './network-users.ts';
import { optionProblem } from './option-problem.ts';
import { annotationPatch, type PodAddresses, WRITE_TIMEOUT_MS } from './pod-addresses.ts';

export interface PodGatesOptions {
  readonly client: Pick<KubeClient, 'get' | 'jsonPatch'>;
  readonly pods: Pick<Lister<NetworkPod>, 'get'>;
  readonly users: Pick<NetworkUsers, 'reserve' | 'settle'>;
  readonly ipam: Pick<IpamState, 'conflictsOf'>;
  readonly addresses: Pick<PodAddresses, 'fill' | 'serves'>;
  readonly stateOf: (key: ObjectKey) => NetworkState;
  readonly nodes: Pick<NetworkNodes, 'withoutMultus' | 'lostBy'>;
  /** The same as the webhook's. */
  readonly access: NetworkAccess;
  readonly events: EventRecorder;
  /** Called once for two pods with one address. */
  readonly onConflict: () => void;
}

/** What waiting does not mend. */
const LASTING: ReadonlySet<Refusal['reason']> = new Set(['InvalidNetworkAnnotation', 'ProviderCannotAttach']);

/**
 * Gives each pod its addresses, and removes its gate when all its Networks are Ready. Until then, an Event says what
 * the pod waits for.
 */
export class PodGates {
  readonly #options: PodGatesOptions;
  /** The last note of each Event of a pod, by what it is about, so that a resync does not repeat it. */
  readonly #told = new Map<ObjectKey, Readonly<Record<string, string>>>();
  /** The version of each pod that was patched last: the cache may not show the result yet. */
  readonly #patched = new Map<ObjectKey, string>();

  constructor(options: PodGatesOptions) {
    this.#options = options;
  }

  readonly reconcile: Reconcile = async (key, signal) => {
    const pod = this.#options.pods.get(key);
    if (!pod || pod.metadata.deletionTimestamp) {
      this.#told.delete(key);
      this.#patched.delete(key);
      return {};
    }
    // The event of the patch queues the pod again.
    if (this.#patched.get(key) === versionOf(pod)) return {};
    if (!isGated(pod)) return this.#serve(pod, signal);
    const ready = this.#readyNetworksOf(pod);
    return 'why' in ready ? this.#wait(pod, ready) : this.#lift(pod, ready, signal);
  };

  /** The Networks of the pod, if all are Ready, and Multus' annotation, which may have changed, names each of them. */
  #readyNetworksOf({
    selections = {},
    metadata: { namespace = '' },
    namedNodes,
  }: NetworkPod): readonly string[] | Refusal {
    const { access, stateOf, nodes } = this.#options;
    const { asked, multus } = selections;
    if (asked === undefined) return [];
    const invalid = (why: string) =>
      ({ reason: 'InvalidNetworkAnnotation', why: `annotation ${why}` }) as const;
    const request = parseRequest(asked, namespace, access);
    if ('problem' in request) return invalid(`${NETWORK_ANNOTATION} ${request.problem}`);
    const networks = request.networks.map(keyOfSelected);
    const refusals = networks.map(stateOf).filter((state) => 'why' in state);
    const lasting = refusals.find(({ reason }) => LASTING.has(reason));
    if (lasting) return lasting;
    const [first] = refusals;
    if (first) return { ...first, why: refusals.map(({ why }) => why).join('; ') };
    const merged = typeof multus === 'object' ? multus : mergeNetworks(request, multus, namespace);
    if ('problem' in merged) return invalid(`${MULTUS_NETWORKS} ${merged.problem}`);
    if (merged.text !== multus) {
      return invalid(`${NETWORK_ANNOTATION} changed after the pod was created: recreate the pod`);
    }
    // What the webhook could not know before the Network was Ready.
    const wrong = optionProblem(merged.text, namespace, { access, stateOf });
    if (wrong !== undefined) return invalid(`${MULTUS_NETWORKS} ${wrong}, then recreate the pod`);
    const why = nodes.withoutMultus(namedNodes);
    return why === undefined ? networks : { reason: 'WaitsForNetwork', why };
  }

  async #lift(pod: NetworkPod, networks: readonly string[], signal: AbortSignal): Promise<Result> {
    const { users, addresses } = this.#options;
    const { multus } = pod.selections ?? {};
    // The pod would be the user of a Network before the cache shows it.
    users.reserve(pod);
    let isLifted = false;
    try {
      const present = networks.length > 0 && typeof multus === 'string' ? multus : '';
      const filled = present === '' ? { text: '' } : await addresses.fill(pod, present, signal);
      if ('why' in filled) return this.#wait(pod, filled);
      const operations = [...liftingPatch(pod), ...annotationPatch(present, filled.text)];
      const result = await this.#patch(pod, operations, signal);
      if (result) return result;
      isLifted = true;
    } finally {
      if (!isLifted) users.settle(pod);
    }
    this.#isNews(pod, 'waits', undefined);
    const note =
      networks.length === 0
        ? 'the pod no longer names a Network: removed its gate'
        : `Networks are Ready (${networks.join(', ')}): removed the gate`;
    this.#report(pod, { type: 'Normal', reason: 'NetworkReady', action: 'Ungate', note });
    return {};
  }

  /** Gives a pod without a gate its addresses. The kubelet retries until it has them. */
  async #serve(pod: NetworkPod, signal: AbortSignal): Promise<Result> {
    const { client, addresses } = this.#options;
    this.#reportConflicts(pod);
    this.#reportMissing(pod);
    if (!pod.lacks.some((network) => addresses.serves(network))) {
      this.#isNews(pod, 'waits', undefined);
      return {};
    }
    const live = await ifFound(client.get(PODS, refOf(pod), { signal }));
    const present = live?.metadata.annotations?.[MULTUS_NETWORKS];
    if (present === undefined || live?.metadata.uid !== pod.metadata.uid) return {};
    const filled = await addresses.fill(pod, present, signal);
    if ('why' in filled) return this.#wait(pod, filled);
    const operations = annotationPatch(present, filled.text);
    if (operations.length === 0) return {};
    return (await this.#patch(pod, [testOfUid(pod), ...operations], signal)) ?? {};
  }

  #wait(pod: NetworkPod, refusal: Refusal): Result {
    this.#reportOnce(pod, refusal);
    const { retryAfterMs } = refusal;
    return retryAfterMs === undefined ? {} : { requeueAfterMs: retryAfterMs };
  }

  /** Returns when to try again if the pod has changed; undefined if it is patched. */
  async #patch(
    pod: NetworkPod,
    operations: readonly Operation[],
    signal: AbortSignal,
  ): Promise<Result | undefined> {
    try {
      const options = { timeoutMs: WRITE_TIMEOUT_MS, signal };
      await this.#options.client.jsonPatch(PODS, refOf(pod), operations, options);
      this.#patched.set(keyOf(pod), versionOf(pod));
      return undefined;
    } catch (error) {
      if (isNotFound(error)) return {};
      // The gates or an annotation changed: the cache will get the new pod.
      if (isOvertaken(error)) return { requeueAfterMs: 0 };
      throw error;
    }
  }

  /** Tells of an address that several pods have, to all but the oldest. They stay as they are. */
  #reportConflicts(pod: NetworkPod): void {
    const { ipam, onConflict } = this.#options;
    for (const { network, ip, others } of ipam.conflictsOf(pod)) {
      const address = `${ip} of Network ${network}`;
      const oldest = others.reduce((a, b) => (isOlder(b, a) ? b : a), pod);
      const note = `${address} is also the address of the older pod ${keyOf(oldest)}: delete one of the pods`;
      // The oldest may have come to its address last.
      for (const younger of oldest === pod ? others : [pod]) {
        if (!this.#isNews(younger, `conflict ${address}`, `${younger.metadata.uid} ${note}`)) continue;
        onConflict();
        this.#report(younger, { type: 'Warning', reason: 'AddressTaken', action: 'Attach', note });
      }
    }
  }

  /** Tells a pod that started before Multus was on its node, or has lost an interface since. It stays as it is. */
  #reportMissing(pod: NetworkPod): void {
    const { addresses, nodes } = this.#options;
    const whys = {
      'because Multus did not attach it': pod.unattached ?? [],
      'lost after the pod started': nodes.lostBy(pod),
    };
    for (const [why, keys] of Object.entries(whys)) {
      const networks = keys.filter((key) => addresses.serves(key)).join(', ');
      const told = networks === '' ? undefined : `${pod.metadata.uid} ${networks}`;
      if (!this.#isNews(pod, `missing ${why}`, told) || told === undefined) continue;
      const note = `runs without its interface on Network ${networks}, ${why}: see NodesReady of the Network, and recreate the pod`;
      this.#report(pod, { type: 'Warning', reason: 'InterfaceMissing', action: 'Attach', note });
    }
  }

  #reportOnce(pod: NetworkPod, { reason, why }: Refusal): void {
    const note = `${LASTING.has(reason) ? 'not attached yet' : 'waiting for its Network'}: ${why}`;
    if (!this.#isNews(pod, 'waits', note)) return;
    const type = reason === 'WaitsForNetwork' ? 'Normal' : 'Warning';
    this.#report(pod, { type, reason, action: 'Wait', note, eachNote: true });
  }

  #isNews(
    pod: NetworkPod,
    about: 'waits' | `missing ${string}` | `conflict ${string}`,
    note: string | undefined,
  ): boolean {
    const { [about]: before, ...others } = this.#told.get(keyOf(pod)) ?? {};
    const now = note === undefined ? others : { ...others, [about]: note };
    if (Object.keys(now).length === 0) this.#told.delete(keyOf(pod));
    else this.#told.set(keyOf(pod), now);
    return before !== note;
  }

  #report(pod: NetworkPod, details: EventDetails): void {
    this.#options.events.event(regardingOf(PODS, pod), details);
  }
}

/**
 * The patch that removes the gate. It fails (422) if the pod was replaced, or its gates or its annotation changed.
 */
function liftingPatch(pod: NetworkPod): readonly Operation[] {
  const path = `/spec/schedulingGates/${pod.gate}`;
  const asked = pod.selections?.asked;
  const annotation = pointer(['metadata', 'annotations', NETWORK_ANNOTATION]);
  return [
    testOfUid(pod),
    ...(asked === undefined ? [] : [{ op: 'test' as const, path: annotation, value: asked }]),
    { op: 'test', path: `${path}/name`, value: NETWORK_GATE },
    { op: 'remove', path },
  ];
}

function versionOf({ metadata: { uid, resourceVersion } }: NetworkPod): string {
  return `${uid} ${resourceVersion}`;
}

function testOfUid({ metadata }: NetworkPod): Operation {
  return { op: 'test', path: '/metadata/uid', value: metadata.uid };
}

function isOlder(a: NetworkPod, b: NetworkPod): boolean {
  const ageOf = ({ metadata: { creationTimestamp = '', uid = '' } }: NetworkPod) =>
    `${creationTimestamp} ${uid}`;
  return ageOf(a) < ageOf(b);
}
