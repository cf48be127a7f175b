import { isArray, type JsonObject, own, ownObjects, ownString } from './json.ts';
import {
  containers,
  findContainer,
  initContainers,
  isNativeSidecar,
  nameOf,
  type Pod,
  volumes,
} from './pod.ts';
import { formatPort, portCollision } from './ports.ts';
import type { Sidecar } from './sidecar.ts';
import type { Template } from './template.ts';
import { sameVolume } from './volumes.ts';

/** Something of the pod that a template cannot be added beside. */
interface Conflict {
  /** Where in the pod: `spec.volumes[name=data]`. */
  readonly path: string;
  readonly message: string;
}

/** A conflict as one line. */
export function formatConflict({ path, message }: Conflict): string {
  return `${path}: ${message}`;
}

/** All that keeps a template from being added to a pod. None: it fits. */
export function* findConflicts(
  pod: Pod,
  template: Template,
  sidecars: readonly Sidecar[],
  appContainers: readonly JsonObject[],
): Generator<Conflict, void> {
  const names = new Set(sidecars.map(({ name }) => name));
  const running = neighbours(pod).filter(([, neighbour]) => !names.has(nameOf(neighbour)));
  for (const sidecar of sidecars) {
    yield* nameConflicts(pod, sidecar);
    yield* portConflicts(sidecar, running);
  }
  yield* volumeConflicts(pod, template);
  yield* hostAliasConflicts(pod, template);
  for (const container of appContainers) yield* mountConflicts(container, template);
}

/** Containers of every kind share one space of names. */
function* nameConflicts(pod: Pod, { name, stub }: Sidecar): Generator<Conflict> {
  if (stub || !findContainer(pod, name)) return;
  const list = containers(pod).some((container) => nameOf(container) === name)
    ? 'containers'
    : 'initContainers';
  yield { path: `spec.${list}[name=${name}]`, message: 'the template has a container of this name' };
}

/** Containers that run at the same time share the pod's ports; init containers that end do not. */
function* portConflicts(sidecar: Sidecar, running: readonly Neighbour[]): Generator<Conflict> {
  if (sidecar.list === 'initContainers' && !isNativeSidecar(sidecar.container)) return;
  for (const port of ownObjects(sidecar.container, 'ports')) {
    for (const [list, neighbour] of running) {
      for (const other of ownObjects(neighbour, 'ports')) {
        const field = portCollision(port, other);
        if (!field) continue;
        const path = `spec.${list}[name=${nameOf(neighbour)}].ports[${field}=${formatPort(other, field)}]`;
        yield { path, message: `the template's container ${sidecar.name} has it too` };
      }
    }
  }
}

/** A container that keeps running, with the list that it is in. */
type Neighbour = readonly [list: string, container: JsonObject];

function neighbours(pod: Pod): readonly Neighbour[] {
  return [
    ...containers(pod).map((container) => ['containers', container] as const),
    ...initContainers(pod)
      .filter(isNativeSidecar)
      .map((container) => ['initContainers', container] as const),
  ];
}

function* volumeConflicts(pod: Pod, template: Template): Generator<Conflict> {
  for (const volume of template.volumes) {
    const existing = findVolume(pod, nameOf(volume));
    if (!existing || sameVolume(existing, volume)) continue;
    yield {
      path: `spec.volumes[name=${nameOf(volume)}]`,
      message: 'the template has another volume of this name',
    };
  }
}

/** The pod's volume of that name. */
export function findVolume(pod: Pod, name: string): JsonObject | undefined {
  return volumes(pod).find((volume) => nameOf(volume) === name);
}

/** An address is there once; its names can be shared only if the pod's own has them all. */
function* hostAliasConflicts(pod: Pod, template: Template): Generator<Conflict> {
  for (const alias of template.hostAliases) {
    const ip = ownString(alias, 'ip');
    const existing = findHostAlias(pod, ip);
    const known = own(existing, 'hostnames');
    const wanted = own(alias, 'hostnames');
    if (!existing || !isArray(wanted)) continue;
    if (wanted.every((hostname) => isArray(known) && known.includes(hostname))) continue;
    yield { path: `spec.hostAliases[ip=${ip}]`, message: 'the template has other names for this address' };
  }
}

/** The pod's host alias for that address. */
export function findHostAlias(pod: Pod, ip: string | undefined): JsonObject | undefined {
  return ownObjects(own(pod, 'spec'), 'hostAliases').find((alias) => ownString(alias, 'ip') === ip);
}

function* mountConflicts(container: JsonObject, template: Template): Generator<Conflict> {
  for (const mount of template.volumeMounts) {
    const existing = findMount(container, ownString(mount, 'mountPath'));
    if (!existing || nameOf(existing) === nameOf(mount)) continue;
    const path = `spec.containers[name=${nameOf(container)}].volumeMounts[mountPath=${ownString(mount, 'mountPath')}]`;
    yield { path, message: `the template mounts ${nameOf(mount)} there` };
  }
}

/** What the container mounts at that path. */
export function findMount(container: JsonObject, mountPath: string | undefined): JsonObject | undefined {
  return ownObjects(container, 'volumeMounts').find((mount) => ownString(mount, 'mountPath') === mountPath);
}
