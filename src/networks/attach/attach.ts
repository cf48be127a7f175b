import { isPodCreation } from '../../injection/podspec/admission-target.ts';
import { annotation, MIRROR_ANNOTATION, type Pod, specField } from '../../injection/podspec/pod.ts';
import { podSites } from '../../injection/podspec/workload.ts';
import type { AdmissionAnswer, ReviewHandler } from '../../kube/admission/review.ts';
import { keyOf, splitKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Logger } from '../../kube/util/log.ts';
import { rateLimitedSingleflight } from '../../kube/util/rate-limited-singleflight.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { own, ownString } from '../../util/json.ts';
import { PodPatchBuilder } from '../../util/patch.ts';
import { MULTUS_NETWORKS, NETWORK_ANNOTATION, NETWORK_GATE } from '../api/names.ts';
import { NETWORKS } from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import type { ProviderRegistry } from '../controller/provider-registry.ts';
import type { NetworkAccess } from '../pods/network-access.ts';
import { gateIndex } from '../pods/network-pods.ts';
import { hintsFor, networksAskedFor, parseRequest } from '../pods/request.ts';
import { keyOfSelected, mergeNetworks, type NetworkSelection } from '../pods/selection.ts';
import { type AttachOptions, optionProblem } from './option-problem.ts';

/** The most Networks of a pod. Multus has no limit, but more interfaces are a mistake. */
export const MAX_NETWORKS = 32;

/**
 * Attaches a new pod to the Networks that it asks for: adds them to Multus' annotation, and adds the gate that holds
 * the pod until they are Ready. Refuses a mistake of the user. Idempotent.
 */
export function attach(pod: Pod, namespace: string, options: AttachOptions): AdmissionAnswer {
  const asked = annotation(pod, NETWORK_ANNOTATION);
  if (asked === undefined) return { allowed: true };
  if (annotation(pod, MIRROR_ANNOTATION) !== undefined) {
    const warning = `${NETWORK_ANNOTATION} has no effect on a static pod: its kubelet starts it without the API server`;
    return { allowed: true, warnings: [warning] };
  }
  const request = parseRequest(asked, namespace, options.access);
  if ('problem' in request) return refused(`annotation ${NETWORK_ANNOTATION} ${request.problem}`);
  const { length } = request.networks;
  if (length > MAX_NETWORKS) {
    return refused(`annotation ${NETWORK_ANNOTATION} names ${length} Networks: use at most ${MAX_NETWORKS}`);
  }
  const obstacle = obstacleOf(pod, request, options);
  if (obstacle !== undefined) return refused(obstacle);
  const present = annotation(pod, MULTUS_NETWORKS);
  const merged = mergeNetworks(request, present, namespace);
  if ('problem' in merged) return refused(`annotation ${MULTUS_NETWORKS} ${merged.problem}`);
  const wrong = optionProblem(merged.text, namespace, options);
  // Without an annotation of Multus, its text comes from ours.
  const written = present === undefined ? NETWORK_ANNOTATION : MULTUS_NETWORKS;
  if (wrong !== undefined) return refused(`annotation ${written} ${wrong}`);
  const draft = new PodPatchBuilder(pod);
  if (merged.text !== present) draft.set(['metadata', 'annotations'], MULTUS_NETWORKS, merged.text);
  if (!isBound(pod) && gateIndex(pod) < 0) draft.insert(['spec', 'schedulingGates'], { name: NETWORK_GATE });
  const warnings = hintsFor(request).map((hint) => `annotation ${NETWORK_ANNOTATION} ${hint}`);
  return { allowed: true, operations: draft.operations, warnings };
}

/** Why the pod cannot be attached; undefined if it can. */
function obstacleOf(
  pod: Pod,
  { networks }: NetworkSelection,
  { stateOf }: AttachOptions,
): string | undefined {
  if (specField(pod, 'hostNetwork') === true) {
    return `a pod with hostNetwork cannot get an interface on a Network: remove spec.hostNetwork, or the annotation ${NETWORK_ANNOTATION}`;
  }
  for (const key of networks.map(keyOfSelected)) {
    const state = stateOf(key);
    if (!('why' in state)) continue;
    if (state.reason === 'ProviderCannotAttach') return state.why;
    if (isBound(pod)) {
      return `a pod with spec.nodeName cannot wait, but ${state.why}: create the pod once the Network is Ready, or remove spec.nodeName`;
    }
  }
  return undefined;
}

/** A pod that names its node bypasses the scheduler, and may not have a gate. */
function isBound(pod: Pod): boolean {
  return Boolean(ownString(own(pod, 'spec'), 'nodeName'));
}

function refused(message: string): AdmissionAnswer {
  return { allowed: false, code: 403, message };
}

export interface AttachWithOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly clock: Clock;
  readonly networks: Pick<Lister<Network>, 'get'>;
  readonly providers: Pick<ProviderRegistry, 'stateOf'>;
  readonly access: NetworkAccess;
}

/** Limits the lists of Networks that are read before a refusal. */
const LISTS = { ratePerSecond: 10, burst: 20 };

/** Returns a function that attaches pods with the Networks of a cache or, for `fresh`, of the API server. */
export function attachWith({ client, clock, networks, providers, access }: AttachWithOptions): Attach {
  const networksIn = rateLimitedSingleflight(clock, LISTS, async (namespace, signal) => {
    const { items } = await client.list(NETWORKS, { namespace, signal }, NETWORKS.decode);
    return items;
  });
  return async (pod, namespace, { fresh, signal }) => {
    const annotated = fresh ? annotation(pod, NETWORK_ANNOTATION) : undefined;
    const named = networksAskedFor(annotated, namespace, access);
    // A pod with too many Networks is refused without a look at them.
    const keys = named.length > MAX_NETWORKS ? [] : named;
    const namespaces = new Set(keys.map((key) => splitKey(key).namespace ?? ''));
    const listed = await Promise.all([...namespaces].map((each) => networksIn(each, signal)));
    const found = new Map(listed.flat().map((network) => [keyOf(network), network]));
    return attach(pod, namespace, {
      access,
      stateOf: (key) => providers.stateOf(key, fresh ? found.get(key) : networks.get(key)),
    });
  };
}

/**
 * Attaches a new pod. `fresh`: reads Networks from the API server, because the cache may be outdated. Rejects if the
 * API server does not answer; then the failurePolicy decides.
 */
export type Attach = (
  pod: Pod,
  namespace: string,
  options: { readonly fresh: boolean; readonly signal: AbortSignal },
) => Promise<AdmissionAnswer>;

export function createAttachHandler({ attach, log }: { attach: Attach; log: Logger }): ReviewHandler {
  return async (request, signal) => {
    const { uid, namespace, object: pod = {}, dryRun } = request;
    if (!isPodCreation(request)) return { allowed: true };
    const cached = await attach(pod, namespace, { fresh: false, signal });
    // Before a refusal, check with the API server, because the cache may be outdated.
    const answer = cached.allowed ? cached : await attach(pod, namespace, { fresh: true, signal });
    const outcome = !answer.allowed ? 'refused' : answer.operations ? 'attached' : 'untouched';
    const name = request.name || ownString(pod.metadata, 'name') || ownString(pod.metadata, 'generateName');
    log.info({ uid, namespace, name, outcome, dryRun }, 'handled Networks of a pod');
    return answer;
  };
}

/** The webhook that warns the author of a workload whose pods would be refused. It refuses nothing. */
export function createWorkloadAttachHandler(attach: Attach): ReviewHandler {
  return async ({ object, namespace, subResource }, signal) => {
    if (object === undefined || subResource !== '') return { allowed: true };
    const answers = [...podSites(object)].map(({ pod }) => attach(pod, namespace, { fresh: false, signal }));
    const warnings = (await Promise.all(answers)).flatMap((answer) =>
      answer.allowed ? [] : [`pods of this workload are refused: ${answer.message}`],
    );
    return { allowed: true, warnings };
  };
}
