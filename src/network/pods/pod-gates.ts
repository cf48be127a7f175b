import type { Operation } from 'fast-json-patch';
import { isInvalid, isNotFound } from '../../kube/api/api-error.ts';
import { PODS } from '../../kube/api/core-resources.ts';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import { apiVersionOf } from '../../kube/api/resource.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Reconcile, Result } from '../../kube/controller/controller.ts';
import type { EventDetails, EventRecorder } from '../../kube/events/events.ts';
import { FIELD_MANAGER, NETWORK_ANNOTATION, NETWORK_GATE } from '../api/names.ts';
import { decideGate, type GateDecision } from './gate-decision.ts';
import type { NetworkAccess } from './network-access.ts';
import { isGated, type NetworkPod } from './network-pods.ts';
import type { NetworkState } from './network-state.ts';
import type { NetworkUsers } from './network-users.ts';

export interface PodGatesOptions {
  readonly client: Pick<KubeClient, 'jsonPatch'>;
  readonly pods: Pick<Lister<NetworkPod>, 'get'>;
  readonly users: Pick<NetworkUsers, 'reserve' | 'settle'>;
  readonly stateOf: (key: ObjectKey) => NetworkState;
  /** The same as the webhook's. */
  readonly access: NetworkAccess;
  readonly events: EventRecorder;
}

/** Removes the gate of a pod when all its Networks are Ready. Until then, an Event says what the pod waits for. */
export class PodGates {
  readonly #options: PodGatesOptions;
  /** The last Event of each waiting pod, so that a resync does not repeat it. */
  readonly #reported = new Map<ObjectKey, string>();

  constructor(options: PodGatesOptions) {
    this.#options = options;
  }

  readonly reconcile: Reconcile = async (key, signal) => {
    const pod = this.#options.pods.get(key);
    if (!pod || !isGated(pod) || pod.metadata.deletionTimestamp) {
      this.#reported.delete(key);
      return {};
    }
    const decision = this.#decide(pod);
    if (decision.kind === 'lift') return this.#lift(pod, decision, signal);
    this.#reportOnce(pod, decision);
    return {};
  };

  #decide(pod: NetworkPod): GateDecision {
    const { access, stateOf } = this.#options;
    const { asked, multus } = pod.selections ?? {};
    const { namespace = '' } = pod.metadata;
    return decideGate({ asked, multus, namespace }, { access, stateOf });
  }

  async #lift(
    pod: NetworkPod,
    { networks }: GateDecision & { kind: 'lift' },
    signal: AbortSignal,
  ): Promise<Result> {
    const { client, users } = this.#options;
    const { name, namespace } = pod.metadata;
    users.reserve(pod);
    try {
      const options = { fieldManager: FIELD_MANAGER, signal };
      await client.jsonPatch(PODS, { name, namespace }, liftingPatch(pod), options);
    } catch (error) {
      users.settle(pod);
      if (isNotFound(error)) return {};
      // The gates or the annotation changed: the cache will get the new pod.
      if (isInvalid(error)) return { requeueAfterMs: 0 };
      throw error;
    }
    this.#reported.delete(keyOf(pod));
    const note =
      networks.length === 0
        ? 'the pod no longer names a Network: removed its gate'
        : `Network ${networks.join(', ')} is Ready: removed the gate`;
    this.#report(pod, { type: 'Normal', reason: 'NetworkReady', action: 'Ungate', note });
    return {};
  }

  #reportOnce(pod: NetworkPod, { reason, why }: GateDecision & { kind: 'wait' }): void {
    const key = keyOf(pod);
    const note = `waits for its Network: ${why}`;
    if (this.#reported.get(key) === note) return;
    this.#reported.set(key, note);
    const type = reason === 'WaitsForNetwork' ? 'Normal' : 'Warning';
    this.#report(pod, { type, reason, action: 'Wait', note });
  }

  #report({ metadata }: NetworkPod, details: EventDetails): void {
    const { name, namespace = '', uid = '' } = metadata;
    const regarding = { name, namespace, uid };
    this.#options.events.event(
      { apiVersion: apiVersionOf(PODS), kind: PODS.kind, metadata: regarding },
      details,
    );
  }
}

/**
 * The patch that removes the gate. It fails (422) if the pod was replaced, or its gates or its annotation changed.
 */
function liftingPatch(pod: NetworkPod): readonly Operation[] {
  const path = `/spec/schedulingGates/${pod.gate}`;
  const asked = pod.selections?.asked;
  const annotation = `/metadata/annotations/${NETWORK_ANNOTATION.replace('/', '~1')}`;
  return [
    { op: 'test', path: '/metadata/uid', value: pod.metadata.uid },
    ...(asked === undefined ? [] : [{ op: 'test' as const, path: annotation, value: asked }]),
    { op: 'test', path: `${path}/name`, value: NETWORK_GATE },
    { op: 'remove', path },
  ];
}
