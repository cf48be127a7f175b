import { type ConfigurationRead, configurationRead } from '../../injection/envoy/configuration-age.ts';
import { DRAIN, type Keys, ROLLOUT_ANNOTATION } from '../../injection/keys.ts';
import {
  annotation,
  containers,
  initContainers,
  isNativeSidecar,
  label,
  nameOf,
  type Pod,
  troubleOf,
  volumes,
} from '../../injection/podspec/pod.ts';
import { creatorName } from '../../injection/podspec/workload-kinds.ts';
import { addedContainers, parseStatus, type Status } from '../../injection/status.ts';
import { PODS } from '../../kube/api/core-resources.ts';
import {
  controllerOf,
  identityOf,
  type KubeObject,
  keyOf,
  type OwnerReference,
} from '../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../kube/api/resource.ts';
import { type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';
import type { FoundOut, Made, RolloutPod } from './plan/pod.ts';

/** What the pod itself shows, without its namespace and what this process remembers. */
export interface Observed
  extends Omit<RolloutPod, 'namespace' | 'isConfigStale' | keyof Made | keyof FoundOut> {
  /** Whether the annotation takes the pod out of its Services. */
  readonly canDrain: boolean;
  /** How often the sidecar was restarted, all its containers together. */
  readonly restarts: number;
  readonly config: ConfigurationRead;
}

/** A cached pod: a rollout sees no more of it. */
export interface ObservedPod extends KubeObject {
  readonly observed: Observed | undefined;
}

/** Pods, as far as a rollout looks at them: of those without a sidecar, the identity. */
export function observedPods(keys: Keys): Resource<ObservedPod> {
  return {
    ...PODS,
    decode(object) {
      const pod = decodeObject(object);
      return { metadata: identityOf(pod), observed: observe(pod as KubeObject & JsonObject, keys) };
    },
  };
}

/** What a rollout sees of a pod; undefined for a pod without a sidecar. */
export function observe(pod: KubeObject & JsonObject, keys: Keys): Observed | undefined {
  const status = parseStatus(annotation(pod, keys.status));
  if (!status) return undefined;
  const { uid = '', creationTimestamp = '', deletionTimestamp } = pod.metadata;
  const owner = controllerOf(pod);
  const ready = ownObjects(own(pod, 'status'), 'conditions').find(
    (each) => ownString(each, 'type') === 'Ready',
  );
  const isReady = ownString(ready, 'status');
  const sidecars = sidecarsOf(pod, status);
  const sidecarStartedAt = greatest(sidecars.map(({ state }) => runningSince(state)));
  const restarts = sidecars.reduce((sum, { state }) => sum + Number(own(state, 'restartCount') ?? 0), 0);
  return {
    key: keyOf(pod),
    uid,
    selects: annotation(pod, keys.templates),
    owner: owner && ownerIn(pod, owner),
    node: ownString(own(pod, 'spec'), 'nodeName') ?? '',
    createdAt: Date.parse(creationTimestamp),
    isGoing: deletionTimestamp !== undefined,
    ready: isReady === 'Unknown' ? 'unknown' : isReady === 'True',
    readySince: Date.parse(ownString(ready, 'lastTransitionTime') ?? creationTimestamp),
    sidecarStartedAt,
    isSidecarReady: sidecars.every(({ state }) => own(state, 'ready') === true),
    status,
    endsByItself: (ownString(own(pod, 'spec'), 'restartPolicy') ?? 'Always') !== 'Always',
    isOptedOut: [label(pod, ROLLOUT_ANNOTATION), annotation(pod, ROLLOUT_ANNOTATION)].includes('false'),
    isDraining: annotation(pod, DRAIN) !== undefined,
    canDrain: canDrain(pod, sidecars),
    trouble: sidecars.map(({ state }) => troubleOf(state)).find((trouble) => trouble !== undefined),
    restarts,
    isRestarted:
      status.restarts === undefined || (sidecarStartedAt !== undefined && restarts > status.restarts),
    config: configurationRead(pod, keys),
  };
}

function ownerIn(pod: Pod, { uid, kind, name }: OwnerReference): RolloutPod['owner'] {
  const creator = creatorName({ kind, name }, pod);
  return { uid, kind, ...(creator !== name && { creator }) };
}

interface Sidecar {
  readonly container: JsonObject;
  /** Its ContainerStatus; empty until the kubelet has written one. */
  readonly state: JsonObject;
}

/** The containers of the sidecar that run along. */
function sidecarsOf(pod: Pod, status: Status): readonly Sidecar[] {
  const states = new Map(
    ['containerStatuses', 'initContainerStatuses'].flatMap((list) =>
      ownObjects(own(pod, 'status'), list).map((state) => [nameOf(state), state] as const),
    ),
  );
  const names = new Set(addedContainers(status));
  return [...containers(pod), ...initContainers(pod).filter(isNativeSidecar)]
    .filter((container) => names.has(nameOf(container)))
    .map((container) => ({ container, state: states.get(nameOf(container)) ?? {} }));
}

/** A drain needs the annotation in a file of the sidecar, and a probe that fails by it. */
function canDrain(pod: Pod, sidecars: readonly Sidecar[]): boolean {
  const files = new Set(volumes(pod).filter(hasDrain).map(nameOf));
  const drains = ({ container }: Sidecar) =>
    own(container, 'readinessProbe') !== undefined &&
    ownObjects(container, 'volumeMounts').some((mount) => files.has(nameOf(mount)));
  return sidecars.some(drains);
}

function hasDrain(volume: JsonObject): boolean {
  const sources = [volume, ...ownObjects(own(volume, 'projected'), 'sources')];
  return sources
    .flatMap((source) => ownObjects(own(source, 'downwardAPI'), 'items'))
    .some((item) => ownString(own(item, 'fieldRef'), 'fieldPath') === `metadata.annotations['${DRAIN}']`);
}

function runningSince(state: JsonObject): number | undefined {
  const started = ownString(own(own(state, 'state'), 'running'), 'startedAt');
  return started === undefined ? undefined : Date.parse(started);
}

/** Undefined if there is none, or one of them is unknown. */
function greatest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 || known.length < times.length ? undefined : Math.max(...known);
}
