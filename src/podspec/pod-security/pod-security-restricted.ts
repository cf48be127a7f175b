import { isArray, type JsonObject, type JsonValue, own } from '../../json/json.ts';
import { containers, initContainers, nameOf, type Pod, specField, volumes } from '../pod.ts';
import { isSet } from '../rules/rules.ts';
import { procMountViolations } from './pod-security-baseline.ts';

const VOLUME_SOURCES: readonly string[] = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

/** What the level `restricted` forbids beyond `baseline`. */
export function* restrictedViolations(pod: Pod): Generator<string, void> {
  const podContext = specField(pod, 'securityContext');
  for (const volume of volumes(pod)) {
    if (!VOLUME_SOURCES.some((source) => isSet(volume, source))) {
      yield `volume ${nameOf(volume)} has a kind that is not allowed`;
    }
  }
  // A pod in a user namespace may be root there (KEP-127).
  const mayBeRoot = specField(pod, 'hostUsers') === false;
  if (!mayBeRoot) {
    if (own(podContext, 'runAsUser') === 0) yield 'the pod must not set runAsUser to 0';
    // Even if each container sets true itself.
    if (own(podContext, 'runAsNonRoot') === false) yield 'the pod must not set runAsNonRoot to false';
  }
  for (const container of [...initContainers(pod), ...containers(pod)]) {
    yield* containerViolations(container, podContext);
    if (mayBeRoot) yield* procMountViolations(container);
    else yield* rootViolations(container, podContext);
  }
}

function* containerViolations(
  container: JsonObject,
  podContext: JsonValue | undefined,
): Generator<string, void> {
  const name = `container ${nameOf(container)}`;
  const context = own(container, 'securityContext');
  if (own(context, 'allowPrivilegeEscalation') !== false) {
    yield `${name} must set allowPrivilegeEscalation to false`;
  }
  const dropped = own(own(context, 'capabilities'), 'drop');
  if (!isArray(dropped) || !dropped.includes('ALL')) yield `${name} must drop ALL capabilities`;
  const added = own(own(context, 'capabilities'), 'add');
  for (const capability of isArray(added) ? added : []) {
    if (capability !== 'NET_BIND_SERVICE') yield `${name} must not add the capability ${capability}`;
  }
  const seccomp = own(context, 'seccompProfile') ?? own(podContext, 'seccompProfile');
  if (own(seccomp, 'type') === undefined) yield `${name} must set a seccompProfile`;
}

function* rootViolations(container: JsonObject, podContext: JsonValue | undefined): Generator<string, void> {
  const name = `container ${nameOf(container)}`;
  const context = own(container, 'securityContext');
  if ((own(context, 'runAsNonRoot') ?? own(podContext, 'runAsNonRoot')) !== true) {
    yield `${name} must set runAsNonRoot to true`;
  }
  if (own(context, 'runAsUser') === 0) yield `${name} must not set runAsUser to 0`;
}
