import { finder } from '../json/finder.ts';
import { isArray, type JsonObject, own, ownObjects, ownString } from '../json/json.ts';
import {
  containerFinder,
  containers,
  initContainers,
  isNativeSidecar,
  nameOf,
  type Pod,
  volumes,
} from '../podspec/pod.ts';
import { formatPort, PortIndex } from '../podspec/rules/ports.ts';
import { sameVolume } from '../podspec/rules/volume-rules.ts';
import type { Sidecar } from './sidecar.ts';
import type { Template } from './template/template.ts';

/** Something in the pod that conflicts with the template. */
interface Conflict {
  /** The place in the pod, such as `spec.volumes[name=data]`. */
  readonly path: string;
  readonly message: string;
}

/** A conflict as one line. */
export function formatConflict({ path, message }: Conflict): string {
  return `${path}: ${message}`;
}

/**
 * All conflicts of a template with a pod; empty if it fits. This runs for nearly every pod, so it uses plain loops,
 * which cost less than generators (test/bench/README.md).
 */
export function findConflicts(
  pod: Pod,
  template: Template,
  sidecars: readonly Sidecar[],
  appContainers: readonly JsonObject[],
): readonly Conflict[] {
  const found: Conflict[] = [];
  const findContainer = containerFinder(pod);
  const taken = takenPorts(pod, sidecars);
  for (const sidecar of sidecars) {
    nameConflicts(pod, sidecar, findContainer, found);
    portConflicts(sidecar, taken, found);
  }
  const findVolume = volumeFinder(pod);
  for (const volume of template.volumes) volumeConflicts(volume, findVolume, found);
  const findAlias = hostAliasFinder(pod);
  for (const alias of template.hostAliases) hostAliasConflicts(alias, findAlias, found);
  if (template.volumeMounts.length === 0) return found;
  for (const container of appContainers) {
    const findMount = mountFinder(container);
    for (const mount of template.volumeMounts) mountConflicts(container, mount, findMount, found);
  }
  return found;
}

type Find = (key: string) => JsonObject | undefined;

/** Containers of every kind share one space of names. */
function nameConflicts(pod: Pod, { name, override }: Sidecar, findContainer: Find, found: Conflict[]): void {
  if (override || !findContainer(name)) return;
  const list = containers(pod).some((container) => nameOf(container) === name)
    ? 'containers'
    : 'initContainers';
  found.push({
    path: `spec.${list}[name=${name}]`,
    message: 'the template has a container of this name: rename one of them',
  });
}

/** Containers that run at the same time share the pod's ports. Init containers that end do not. */
function portConflicts(sidecar: Sidecar, taken: PortIndex<Neighbour>, found: Conflict[]): void {
  if (sidecar.list === 'initContainers' && !isNativeSidecar(sidecar.container)) return;
  for (const port of ownObjects(sidecar.container, 'ports')) {
    for (const { owner, port: other, field } of taken.collisionsOf(port)) {
      const [list, neighbour] = owner;
      const path = `spec.${list}[name=${nameOf(neighbour)}].ports[${field}=${formatPort(other, field)}]`;
      found.push({
        path,
        message: `the template's container ${sidecar.name} uses it too: change one of the ports`,
      });
    }
  }
}

/** A container that keeps running, with its list. */
type Neighbour = readonly [list: string, container: JsonObject];

/** The ports of the other containers that run beside these sidecars. */
function takenPorts(pod: Pod, sidecars: readonly Sidecar[]): PortIndex<Neighbour> {
  const taken = new PortIndex<Neighbour>();
  const names = new Set(sidecars.map(({ name }) => name));
  const take = (list: string, container: JsonObject): void => {
    if (names.has(nameOf(container))) return;
    for (const port of ownObjects(container, 'ports')) taken.add([list, container], port);
  };
  for (const container of containers(pod)) take('containers', container);
  for (const container of initContainers(pod)) {
    if (isNativeSidecar(container)) take('initContainers', container);
  }
  return taken;
}

function volumeConflicts(volume: JsonObject, findVolume: Find, found: Conflict[]): void {
  const existing = findVolume(nameOf(volume));
  if (!existing || sameVolume(existing, volume)) return;
  found.push({
    path: `spec.volumes[name=${nameOf(volume)}]`,
    message: 'the template has another volume of this name: rename one of them',
  });
}

/** Finds the pod's volume with a name. */
export function volumeFinder(pod: Pod): Find {
  return finder(volumes(pod), nameOf);
}

/** Each address has one alias, so a conflict is a pod's alias without all names of the template's. */
function hostAliasConflicts(alias: JsonObject, findAlias: Find, found: Conflict[]): void {
  const ip = ownString(alias, 'ip') ?? '';
  const existing = findAlias(ip);
  const wanted = own(alias, 'hostnames');
  if (!existing || !isArray(wanted)) return;
  const hostnames = own(existing, 'hostnames');
  const known = new Set(isArray(hostnames) ? hostnames : []);
  if (wanted.every((hostname) => known.has(hostname))) return;
  found.push({
    path: `spec.hostAliases[ip=${ip}]`,
    message: 'the template has other names for this address: add them to the entry of the pod',
  });
}

/** Finds the pod's host alias for an address. */
export function hostAliasFinder(pod: Pod): Find {
  return finder(ownObjects(own(pod, 'spec'), 'hostAliases'), (alias) => ownString(alias, 'ip'));
}

function mountConflicts(container: JsonObject, mount: JsonObject, findMount: Find, found: Conflict[]): void {
  const mountPath = ownString(mount, 'mountPath') ?? '';
  const existing = findMount(mountPath);
  if (!existing || nameOf(existing) === nameOf(mount)) return;
  const path = `spec.containers[name=${nameOf(container)}].volumeMounts[mountPath=${mountPath}]`;
  found.push({ path, message: `the template mounts ${nameOf(mount)} there: change one of the mount paths` });
}

/** Finds what the container mounts at a path. */
export function mountFinder(container: JsonObject): Find {
  return finder(ownObjects(container, 'volumeMounts'), (mount) => ownString(mount, 'mountPath'));
}
