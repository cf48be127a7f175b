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

/**
 * All that keeps a template from being added to a pod. None: it fits. That is told for nearly every pod, and so in plain
 * loops, which cost less than generators (docs/performance.md).
 */
export function findConflicts(
  pod: Pod,
  template: Template,
  sidecars: readonly Sidecar[],
  appContainers: readonly JsonObject[],
): readonly Conflict[] {
  const found: Conflict[] = [];
  const running = neighbours(pod, sidecars);
  for (const sidecar of sidecars) {
    nameConflicts(pod, sidecar, found);
    portConflicts(sidecar, running, found);
  }
  for (const volume of template.volumes) volumeConflicts(pod, volume, found);
  for (const alias of template.hostAliases) hostAliasConflicts(pod, alias, found);
  for (const container of appContainers) {
    for (const mount of template.volumeMounts) mountConflicts(container, mount, found);
  }
  return found;
}

/** Containers of every kind share one space of names. */
function nameConflicts(pod: Pod, { name, stub }: Sidecar, found: Conflict[]): void {
  if (stub || !findContainer(pod, name)) return;
  const list = containers(pod).some((container) => nameOf(container) === name)
    ? 'containers'
    : 'initContainers';
  found.push({ path: `spec.${list}[name=${name}]`, message: 'the template has a container of this name' });
}

/** Containers that run at the same time share the pod's ports; init containers that end do not. */
function portConflicts(sidecar: Sidecar, running: readonly Neighbour[], found: Conflict[]): void {
  if (sidecar.list === 'initContainers' && !isNativeSidecar(sidecar.container)) return;
  for (const port of ownObjects(sidecar.container, 'ports')) {
    for (const [list, neighbour] of running) {
      for (const other of ownObjects(neighbour, 'ports')) {
        const field = portCollision(port, other);
        if (!field) continue;
        const path = `spec.${list}[name=${nameOf(neighbour)}].ports[${field}=${formatPort(other, field)}]`;
        found.push({ path, message: `the template's container ${sidecar.name} has it too` });
      }
    }
  }
}

/** A container that keeps running, with the list that it is in. */
type Neighbour = readonly [list: string, container: JsonObject];

/** The containers of a pod that run beside these sidecars, and are none of them. */
function neighbours(pod: Pod, sidecars: readonly Sidecar[]): readonly Neighbour[] {
  const found: Neighbour[] = [];
  const isOther = (container: JsonObject) => sidecars.every(({ name }) => name !== nameOf(container));
  for (const container of containers(pod)) {
    if (isOther(container)) found.push(['containers', container]);
  }
  for (const container of initContainers(pod)) {
    if (isNativeSidecar(container) && isOther(container)) found.push(['initContainers', container]);
  }
  return found;
}

function volumeConflicts(pod: Pod, volume: JsonObject, found: Conflict[]): void {
  const existing = findVolume(pod, nameOf(volume));
  if (!existing || sameVolume(existing, volume)) return;
  found.push({
    path: `spec.volumes[name=${nameOf(volume)}]`,
    message: 'the template has another volume of this name',
  });
}

/** The pod's volume of that name. */
export function findVolume(pod: Pod, name: string): JsonObject | undefined {
  return volumes(pod).find((volume) => nameOf(volume) === name);
}

/** An address is there once; its names can be shared only if the pod's own has them all. */
function hostAliasConflicts(pod: Pod, alias: JsonObject, found: Conflict[]): void {
  const ip = ownString(alias, 'ip');
  const existing = findHostAlias(pod, ip);
  const known = own(existing, 'hostnames');
  const wanted = own(alias, 'hostnames');
  if (!existing || !isArray(wanted)) return;
  if (wanted.every((hostname) => isArray(known) && known.includes(hostname))) return;
  found.push({
    path: `spec.hostAliases[ip=${ip}]`,
    message: 'the template has other names for this address',
  });
}

/** The pod's host alias for that address. */
export function findHostAlias(pod: Pod, ip: string | undefined): JsonObject | undefined {
  return ownObjects(own(pod, 'spec'), 'hostAliases').find((alias) => ownString(alias, 'ip') === ip);
}

function mountConflicts(container: JsonObject, mount: JsonObject, found: Conflict[]): void {
  const mountPath = ownString(mount, 'mountPath');
  const existing = findMount(container, mountPath);
  if (!existing || nameOf(existing) === nameOf(mount)) return;
  const path = `spec.containers[name=${nameOf(container)}].volumeMounts[mountPath=${mountPath}]`;
  found.push({ path, message: `the template mounts ${nameOf(mount)} there` });
}

/** What the container mounts at that path. */
export function findMount(container: JsonObject, mountPath: string | undefined): JsonObject | undefined {
  return ownObjects(container, 'volumeMounts').find((mount) => ownString(mount, 'mountPath') === mountPath);
}
