import { clip } from '../../util/clip.ts';
import { finder } from '../../util/finder.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownList,
  ownObjects,
  ownString,
} from '../../util/json.ts';

/** A pod as received. */
export type Pod = JsonObject;

/** In a pod's own container, this image means: use the template's container, with these fields as overrides. */
export const AUTO_IMAGE = 'auto';

/** Marks a mirror pod: the API server's copy of a pod that a kubelet runs from a file. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

export function label(pod: Pod, key: string): string | undefined {
  return ownString(own(own(pod, 'metadata'), 'labels'), key);
}

export function annotation(pod: Pod, key: string): string | undefined {
  return ownString(own(own(pod, 'metadata'), 'annotations'), key);
}

/** Whether the status of the pod says that it is Ready. */
export function isReady(pod: unknown): boolean {
  const conditions = ownObjects(own(pod, 'status'), 'conditions');
  return conditions.some((each) => own(each, 'type') === 'Ready' && own(each, 'status') === 'True');
}

export function specField(pod: Pod, key: string): JsonValue | undefined {
  return own(own(pod, 'spec'), key);
}

export function containers(pod: Pod): readonly JsonObject[] {
  return ownObjects(own(pod, 'spec'), 'containers');
}

export function initContainers(pod: Pod): readonly JsonObject[] {
  return ownObjects(own(pod, 'spec'), 'initContainers');
}

export function volumes(pod: Pod): readonly JsonObject[] {
  return ownObjects(own(pod, 'spec'), 'volumes');
}

/** Whether an init container is a native sidecar, which keeps running beside the application (KEP-753). */
export function isNativeSidecar(initContainer: JsonObject): boolean {
  return own(initContainer, 'restartPolicy') === 'Always';
}

export type ContainerList = 'containers' | 'initContainers';

/** A container, and its place in the spec of its pod. */
export interface PlacedContainer {
  readonly list: ContainerList;
  readonly index: number;
  readonly container: JsonObject;
}

/** The containers and then the init containers of a pod, each with its place. */
export function placedContainers(pod: Pod): readonly PlacedContainer[] {
  return (['containers', 'initContainers'] as const).flatMap((list) => {
    return ownList(own(pod, 'spec'), list).flatMap((container, index) =>
      isObject(container) ? [{ list, index, container }] : [],
    );
  });
}

/** Finds the container or init container with a name, and its place: both kinds share one space of names. */
export function containerFinder(pod: Pod): (name: string) => PlacedContainer | undefined {
  return finder(placedContainers(pod), ({ container }) => ownString(container, 'name'));
}

/** The name of a container, volume or similar object; empty if it has none. */
export function nameOf(item: JsonObject | undefined): string {
  return ownString(item, 'name') ?? '';
}

export const PROBES: readonly string[] = ['startupProbe', 'readinessProbe', 'livenessProbe'];
export const HOOKS = ['postStart', 'preStop'] as const;

/** What the probes and hooks of a container ask over the network. */
export function handlersOf(container: JsonObject): readonly JsonObject[] {
  const lifecycle = own(container, 'lifecycle');
  const holders = [
    ...PROBES.map((probe) => own(container, probe)),
    ...HOOKS.map((hook) => own(lifecycle, hook)),
  ];
  return holders
    .flatMap((holder) => ['httpGet', 'tcpSocket', 'grpc'].map((kind) => own(holder, kind)))
    .filter((handler) => isObject(handler));
}

/** The annotation of a pod for what `spec.securityContext.seccompProfile` says today. */
export const SECCOMP_ANNOTATION = 'seccomp.security.alpha.kubernetes.io/pod';

/** The owner that has made a pod, and replaces it when it is deleted; undefined if there is none. */
export function controllerIn(pod: Pod | undefined): JsonObject | undefined {
  return ownObjects(own(pod, 'metadata'), 'ownerReferences').find((each) => own(each, 'controller') === true);
}

/** The command and the arguments of a container. */
export function argumentsOf(container: JsonObject): readonly string[] {
  return ['command', 'args'].flatMap((field) => ownList(container, field).map(String));
}

/** What follows one of these flags in the command line of a container, also in the script of a shell. */
export function flagValue(
  container: JsonObject,
  flags: readonly string[],
  isValue: RegExp,
): string | undefined {
  const words = argumentsOf(container).flatMap((argument) => argument.split(/[\s=;"']+/));
  return words.find((word, i) => flags.includes(words[i - 1] ?? '') && isValue.test(word));
}

/** Reasons of waiting containers that need time, and no repair. */
const STARTING = new Set(['', 'ContainerCreating', 'PodInitializing']);
const MAX_TROUBLE = 300;

/** Why a container cannot run, in the kubelet's words. */
export function troubleOf(state: JsonObject): string | undefined {
  const [waiting, terminated] = ['waiting', 'terminated'].map((key) => own(own(state, 'state'), key));
  if (isObject(waiting)) return STARTING.has(ownString(waiting, 'reason') ?? '') ? undefined : words(waiting);
  const isFailure = isObject(terminated) && own(terminated, 'exitCode') !== 0;
  return isFailure ? `${words(terminated)} (exit code ${own(terminated, 'exitCode')})` : undefined;
}

function words(state: JsonValue): string {
  const [reason = '', message] = [ownString(state, 'reason'), ownString(state, 'message')];
  return clip(message ? `${reason}: ${message}` : reason, MAX_TROUBLE);
}
