import type { Operation } from 'fast-json-patch';
import type { DecideOptions } from '../../injection/rule.ts';
import type { Status } from '../../injection/status.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import { ApiError, isNotFound, isOvertaken, isRefused } from '../../kube/api/api-error.ts';
import { ENDPOINT_SLICES, NODES, PODS } from '../../kube/api/core-resources.ts';
import { type KubeObject, refOf, splitKey } from '../../kube/api/object.ts';
import type { KubeClient, WriteOptions } from '../../kube/client/client.ts';
import { evict } from '../../kube/client/evict.ts';
import { isObject, type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';
import type { PodMemory } from './memory.ts';
import { type Observed, observe } from './observe.ts';
import type { Action, RolloutPod } from './plan/pod.ts';
import { DRAIN_LIMIT_MS } from './plan/step.ts';
import { type InPlaceChange, onKubelet, type PodChange, podChange } from './pod-change.ts';
import { changePatch, drainPatch, resizePatch, undrainPatch } from './pod-patch.ts';

/**
 * What became of an action. `left`: the pod or the API server does not allow it, as the memory says. `denied`: that is
 * so for the end of a drain, which was not tried again yet.
 */
export type Outcome = 'done' | 'left' | 'later' | 'gone' | 'denied';

export interface ActuatorOptions {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'jsonPatch' | 'request'>;
  readonly decideOptions: DecideOptions;
  readonly memory: PodMemory;
  /** sha256 in hex of the ConfigMap with Envoy's configuration in a namespace. */
  readonly configOf: (namespace: string | undefined) => string | undefined;
  /** The templates of a status, if they are kept. */
  readonly setOf: (status: Status) => TemplateSet | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A budget of disruptions, or what denies the end of a drain, is asked again after this time. */
const BUDGET_MS = 10_000;
/** The rest of the control plane may need a moment to take the pod out of its Services, or to see a write. */
const SOON_MS = 1_000;
/** Before Kubernetes 1.33, pods have no subresource `resize`. */
const NO_RESIZE = 'Kubernetes before 1.33 cannot change cpu and memory of a running pod';
const MANAGER = { fieldManager: 'envoy-initializer-rollout' };

type WholePod = KubeObject & JsonObject;

/** An action on a pod that was read for it. */
interface Job {
  readonly pod: RolloutPod;
  readonly set: TemplateSet;
  readonly whole: WholePod;
  /** What a rollout sees of it. */
  readonly before: Observed;
  readonly signal: AbortSignal;
}

/** Does to pods what a step of the rollout has decided. Each write is refused for a pod that has changed meanwhile. */
export function podActuator(options: ActuatorOptions) {
  const { client, decideOptions, memory, configOf, setOf, now } = options;

  /** Rejects if the API server does not answer. */
  async function act({ do: what, pod, to }: Action, signal: AbortSignal): Promise<Outcome> {
    if (what !== 'undrain' && now() < (pod.blocked?.until ?? 0)) return 'later';
    if (what === 'undrain' && memory.isDenied(pod.uid, now())) return 'denied';
    try {
      if (what === 'evict') return await evictPod(pod, signal);
      const whole = await read(pod, signal);
      const before = whole && observe(whole, decideOptions.keys);
      if (!before) return 'gone';
      const job = { pod, set: to.set, whole, before, signal };
      if (what === 'undrain') return await undrain(job);
      const change = await changeOf(job);
      if (change.how === 'none') return 'later';
      if (change.how !== 'in-place') return judge(pod, to.set, change);
      return await (what === 'change' ? changeInPlace(job, change) : drain(job, change));
    } catch (err) {
      if (isNotFound(err) && !isUnserved(err)) return 'gone';
      // Another writer was faster: the next step sees its write.
      if (isOvertaken(err)) return 'later';
      const judgement = judgementOf(err);
      // Such as a webhook for this pod that is down, or two disruption budgets: the other pods go on.
      if (what !== 'undrain' && err instanceof ApiError && err.status === 500)
        return block(pod, err.message, BUDGET_MS);
      if (!judgement) throw err;
      if (what === 'undrain') memory.denied(pod.uid, now() + BUDGET_MS);
      return judge(pod, to.set, judgement);
    }
  }

  /** Asks the API server whether it allows all of the change before the pod leaves its Services. */
  async function drain(job: Job, change: InPlaceChange): Promise<Outcome> {
    const { pod, set, whole, before, signal } = job;
    const dryRun = { dryRun: true, signal };
    const resize = resizePatch(whole, change);
    if (resize.length > 0) await patch(whole, resize, { ...dryRun, subresource: 'resize' });
    const written = await patch(whole, patchOf(whole, before, change), dryRun);
    for (const { list, index, to } of change.images) {
      const is = ownString(ownObjects(own(written as WholePod, 'spec'), list)[index], 'image') ?? '';
      const why = `admission changes the image ${to} to ${is}`;
      if (is !== to) return judge(pod, set, { how: 'refused', why });
    }
    if (!change.restarts) return await changeInPlace(job, change);
    const allowed = await evictPod(pod, signal, true);
    if (allowed !== 'done') return allowed;
    await write(whole, drainPatch(whole), { signal });
    memory.drained(pod.uid);
    return 'done';
  }

  async function changeInPlace({ pod, whole, before, signal }: Job, change: InPlaceChange): Promise<Outcome> {
    const { namespace } = whole.metadata;
    // The only pod of its workload is not drained.
    if (change.restarts && before.ready === true && !before.isDraining) {
      const allowed = await evictPod(pod, signal, true);
      if (allowed !== 'done') return allowed;
    }
    // One that has been drained for too long does not wait for its Services.
    const isOverdue = now() >= (pod.drainingSince ?? Infinity) + DRAIN_LIMIT_MS;
    if (before.isDraining && before.ready === false && before.trouble === undefined && !isOverdue) {
      if (await isServed(client, namespace, before.uid, signal)) {
        return block(before, 'a Service still sends requests to it', SOON_MS);
      }
    }
    const resize = resizePatch(whole, change);
    // First, so that a pod whose status says that it is done is done.
    if (resize.length > 0) await write(whole, resize, { subresource: 'resize', signal });
    await write(whole, patchOf(whole, before, change), { signal });
    memory.changed(before.uid, now());
    return 'done';
  }

  async function undrain({ whole, before, signal }: Job): Promise<Outcome> {
    // Until its new container runs, the old one must get no requests again.
    if (!before.isDraining || !before.isRestarted) return 'later';
    await write(whole, undrainPatch(whole), { signal });
    return 'done';
  }

  /** A dry run only asks the PodDisruptionBudgets. */
  async function evictPod(pod: RolloutPod, signal: AbortSignal, dryRun = false): Promise<Outcome> {
    const { namespace = '', name } = splitKey(pod.key);
    const object = { metadata: { namespace, name, uid: pod.uid } };
    const outcome = await evict(client, object, { signal, dryRun });
    if (outcome === 'refused') return block(pod, 'a PodDisruptionBudget does not allow it now', BUDGET_MS);
    if (outcome === 'gone') return 'gone';
    if (!dryRun) memory.evicted(pod, now());
    return 'done';
  }

  async function read({ key, uid }: RolloutPod, signal: AbortSignal): Promise<WholePod | undefined> {
    const whole = await client.get(PODS, splitKey(key), { signal });
    return whole.metadata.uid === uid ? (whole as WholePod) : undefined;
  }

  async function changeOf({ pod, set, whole, signal }: Job): Promise<PodChange> {
    const from = pod.status && setOf(pod.status);
    const change = podChange(whole, pod.namespace, set, decideOptions, from, pod.isConfigStale);
    if (change.how !== 'in-place' || !change.restartsNative) return change;
    return onKubelet(change, await kubeletOf(whole, signal));
  }

  /** The version of the kubelet of a pod's node. */
  async function kubeletOf(whole: WholePod, signal: AbortSignal): Promise<string | undefined> {
    const name = ownString(own(whole, 'spec'), 'nodeName');
    if (!name) return undefined;
    const options = { fieldSelector: `metadata.name=${name}`, signal };
    const { items } = await client.list(NODES, options, NODES.decode);
    return items[0]?.status?.nodeInfo?.kubeletVersion;
  }

  function patchOf(whole: WholePod, before: Observed, change: InPlaceChange): readonly Operation[] {
    const config = configOf(whole.metadata.namespace);
    return changePatch(whole, change, decideOptions.keys, { at: new Date(now()), config, before });
  }

  function patch(
    pod: KubeObject,
    operations: readonly Operation[],
    options: WriteOptions,
  ): Promise<KubeObject> {
    return client.jsonPatch(PODS, refOf(pod), operations, { ...MANAGER, ...options });
  }

  /** Writes, and remembers the answer. */
  async function write(
    whole: WholePod,
    operations: readonly Operation[],
    options: WriteOptions,
  ): Promise<void> {
    const written = await patch(whole, operations, options);
    memory.wrote(written, observe(written as WholePod, decideOptions.keys));
  }

  function judge(
    { uid }: RolloutPod,
    { hash }: TemplateSet,
    { how, why }: { readonly how: 'replace' | 'refused'; readonly why: string },
  ): Outcome {
    memory.judged(uid, hash, { how, why }, now());
    return 'left';
  }

  function block({ uid }: Pick<RolloutPod, 'uid'>, why: string, ms: number): Outcome {
    memory.block(uid, why, now(), ms);
    return 'later';
  }

  return { act };
}
export type Actuator = ReturnType<typeof podActuator>;

type Judgement = Exclude<PodChange, InPlaceChange | { readonly how: 'none' }>;

/** The API server does not serve the subresource. For a pod that is gone, it names the kind. */
function isUnserved(err: unknown): boolean {
  return isNotFound(err) && err instanceof ApiError && err.kind === '';
}

/** What an answer of the API server means for the pod; undefined if it means nothing. */
function judgementOf(err: unknown): Judgement | undefined {
  if (isUnserved(err)) return { how: 'replace', why: NO_RESIZE };
  if (!isRefused(err)) return undefined;
  // Validation names fields: they cannot change in a running pod. Policies and webhooks deny other pods, too.
  const isValidation = err.status === 422 && err.fields.length > 0 && err.message.includes(' is invalid: ');
  return { how: isValidation ? 'replace' : 'refused', why: err.message };
}

/** Whether a Service sends requests to the pod with this UID: one of its slices says that the pod is ready. */
async function isServed(
  client: Pick<KubeClient, 'list'>,
  namespace: string | undefined,
  uid: string,
  signal: AbortSignal,
): Promise<boolean> {
  const serves = (endpoint: JsonObject) => {
    const conditions = own(endpoint, 'conditions');
    // `ready` is always true where a Service publishes pods that are not Ready: `serving` is the pod's own. Absent means yes.
    const isServing = (own(conditions, 'serving') ?? own(conditions, 'ready')) !== false;
    return isServing && ownString(own(endpoint, 'targetRef'), 'uid') === uid;
  };
  const read = (slice: unknown) => isObject(slice) && ownObjects(slice, 'endpoints').some(serves);
  return (await client.list(ENDPOINT_SLICES, { namespace, signal }, read)).items.includes(true);
}
