import { isArray, type JsonObject, type JsonValue, own } from '../../../util/json.ts';
import { containers, initContainers, nameOf, type Pod, specField, volumes } from '../pod.ts';
import { isSet } from '../rules/rules.ts';
import { isRelaxed, procMountViolations } from './pod-security-baseline.ts';
import { SINCE, type Standard } from './standard.ts';

const VOLUME_SOURCES: readonly string[] = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

/** What the level `restricted` forbids beyond `baseline`. */
export function* restrictedViolations(pod: Pod, { version, server }: Standard): Generator<string, void> {
  const podContext = specField(pod, 'securityContext');
  const sources = server >= SINCE.imageVolumes ? [...VOLUME_SOURCES, 'image'] : VOLUME_SOURCES;
  for (const volume of volumes(pod)) {
    // Without a source, it is an emptyDir.
    const isEmptyDir = !Object.keys(volume).some((field) => field !== 'name' && isSet(volume, field));
    if (!isEmptyDir && !sources.some((source) => isSet(volume, source))) {
      yield `volume ${nameOf(volume)} has a kind that is not allowed`;
    }
  }
  const mayBeRoot = isRelaxed(pod, version);
  if (!mayBeRoot) {
    if (isRootUser(podContext, version)) yield 'the pod must not set runAsUser to 0';
    // Even if each container sets true itself.
    if (own(podContext, 'runAsNonRoot') === false) yield 'the pod must not set runAsNonRoot to false';
  }
  for (const container of [...initContainers(pod), ...containers(pod)]) {
    yield* containerViolations(container, podContext, version);
    if (mayBeRoot) yield* procMountViolations(container);
    else yield* rootViolations(container, podContext, version);
  }
}

function* containerViolations(
  container: JsonObject,
  podContext: JsonValue | undefined,
  version: number,
): Generator<string, void> {
  const name = `container ${nameOf(container)}`;
  const context = own(container, 'securityContext');
  if (version >= SINCE.allowPrivilegeEscalation && own(context, 'allowPrivilegeEscalation') !== false) {
    yield `${name} must set allowPrivilegeEscalation to false`;
  }
  if (version >= SINCE.dropCapabilities) yield* capabilityViolations(context, name);
  const seccomp = own(context, 'seccompProfile') ?? own(podContext, 'seccompProfile');
  if (version >= SINCE.seccompProfile && own(seccomp, 'type') === undefined) {
    yield `${name} must set a seccompProfile`;
  }
}

function* capabilityViolations(context: JsonValue | undefined, name: string): Generator<string, void> {
  const dropped = own(own(context, 'capabilities'), 'drop');
  if (!isArray(dropped) || !dropped.includes('ALL')) yield `${name} must drop ALL capabilities`;
  const added = own(own(context, 'capabilities'), 'add');
  for (const capability of isArray(added) ? added : []) {
    if (capability !== 'NET_BIND_SERVICE') yield `${name} must not add the capability ${capability}`;
  }
}

function* rootViolations(
  container: JsonObject,
  podContext: JsonValue | undefined,
  version: number,
): Generator<string, void> {
  const name = `container ${nameOf(container)}`;
  const context = own(container, 'securityContext');
  if ((own(context, 'runAsNonRoot') ?? own(podContext, 'runAsNonRoot')) !== true) {
    yield `${name} must set runAsNonRoot to true`;
  }
  if (isRootUser(context, version)) yield `${name} must not set runAsUser to 0`;
}

function isRootUser(context: JsonValue | undefined, version: number): boolean {
  return version >= SINCE.runAsUser && own(context, 'runAsUser') === 0;
}
