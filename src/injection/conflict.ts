import { finder } from '../util/finder.ts';
import { isArray, type JsonObject, own, ownObjects, ownString } from '../util/json.ts';
import { type EnvoyFiles, listeningPorts } from './envoy/listening-ports.ts';
import { placeOf } from './podspec/mount-path.ts';
import {
  containerFinder,
  containers,
  initContainers,
  isNativeSidecar,
  nameOf,
  type Pod,
  volumes,
} from './podspec/pod.ts';
import { formatPort, PortIndex, protocolOf } from './podspec/rules/ports.ts';
import { sameVolume } from './podspec/rules/same-volume.ts';
import type { PodDiagnostic } from './rules/index.ts';
import type { Sidecar } from './sidecar.ts';
import type { InjectionOptions } from './template/options.ts';
import type { Template } from './template/template.ts';

/** Collects what in the pod conflicts with the template, each at its place, such as `spec.volumes[name=data]`. */
class Conflicts {
  readonly found: PodDiagnostic[] = [];

  add(path: string, message: string): void {
    this.found.push({ severity: 'warning', reason: 'conflict', path, message });
  }
}

/**
 * All conflicts of a template with a pod; empty if it fits. This runs for nearly every pod, so it uses plain loops,
 * which cost less than generators (test/bench/README.md).
 */
export function findConflicts(
  pod: Pod,
  template: Template,
  sidecars: readonly Sidecar[],
  { isApp, position, envoyFiles }: ConflictContext,
): readonly PodDiagnostic[] {
  const conflicts = new Conflicts();
  const findContainer = containerFinder(pod);
  const all = [...volumes(pod), ...template.volumes];
  const listening = (container: JsonObject) => listeningPorts(container, all, envoyFiles);
  const taken = takenPorts(pod, sidecars, isApp, listening);
  for (const sidecar of sidecars) {
    nameConflicts(pod, sidecar, findContainer, conflicts);
    portConflicts(sidecar, listening(sidecar.container), taken, conflicts);
    portNameConflicts(pod, sidecar, { isApp, position }, conflicts);
  }
  const findVolume = finder(volumes(pod), nameOf);
  for (const volume of template.volumes) volumeConflicts(pod, template, volume, findVolume, conflicts);
  const findAlias = finder(ownObjects(own(pod, 'spec'), 'hostAliases'), (alias) => ownString(alias, 'ip'));
  for (const alias of template.hostAliases) hostAliasConflicts(alias, findAlias, conflicts);
  if (template.volumeMounts.length === 0) return conflicts.found;
  for (const container of containers(pod).filter(isApp)) {
    const [findMount, findDevice] = [mountFinder(container), deviceFinder(container)];
    for (const mount of template.volumeMounts)
      mountConflicts(container, mount, findMount, findDevice, conflicts);
  }
  return conflicts.found;
}

interface ConflictContext {
  /** Whether a container is the application's, and of no template. */
  readonly isApp: (container: JsonObject) => boolean;
  readonly position: InjectionOptions['position'];
  /** What Envoy reads, if it is known. */
  readonly envoyFiles?: EnvoyFiles | undefined;
}

type Find = (key: string) => JsonObject | undefined;

/** Containers of every kind share one space of names. */
function nameConflicts(
  pod: Pod,
  { name, override }: Sidecar,
  findContainer: Find,
  conflicts: Conflicts,
): void {
  if (override || !findContainer(name)) return;
  const list = containers(pod).some((container) => nameOf(container) === name)
    ? 'containers'
    : 'initContainers';
  conflicts.add(
    `spec.${list}[name=${name}]`,
    'the template has a container of this name: rename one of them',
  );
}

/** Containers that run at the same time share the pod's ports. Init containers that end do not. */
function portConflicts(
  sidecar: Sidecar,
  ports: readonly JsonObject[],
  taken: PortIndex<Neighbour>,
  conflicts: Conflicts,
): void {
  if (sidecar.list === 'initContainers' && !isNativeSidecar(sidecar.container)) return;
  for (const port of ports) {
    for (const { owner, port: other, field } of taken.collisionsOf(port)) {
      const [list, neighbour] = owner;
      const path = `spec.${list}[name=${nameOf(neighbour)}].ports[${field}=${formatPort(other, field)}]`;
      conflicts.add(path, `the template's container ${sidecar.name} uses it too: change one of the ports`);
    }
  }
}

/** A container that keeps running, with its list. */
type Neighbour = readonly [list: string, container: JsonObject];

/** The ports of the other containers that run beside these sidecars. The application's probes may be meant for Envoy. */
function takenPorts(
  pod: Pod,
  sidecars: readonly Sidecar[],
  isApp: ConflictContext['isApp'],
  listening: (container: JsonObject) => readonly JsonObject[],
): PortIndex<Neighbour> {
  const taken = new PortIndex<Neighbour>();
  const names = new Set(sidecars.map(({ name }) => name));
  const take = (list: string, container: JsonObject): void => {
    if (names.has(nameOf(container))) return;
    const ports = isApp(container) ? ownObjects(container, 'ports') : listening(container);
    for (const port of ports) taken.add([list, container], port);
  };
  for (const container of containers(pod)) take('containers', container);
  for (const container of initContainers(pod)) {
    if (isNativeSidecar(container)) take('initContainers', container);
  }
  return taken;
}

/**
 * A Service that names its port sends to the first container that has the name (k8s.io/endpointslice, FindPort): first
 * among the containers, then among the native sidecars.
 */
function portNameConflicts(
  pod: Pod,
  sidecar: Sidecar,
  { isApp, position }: ConflictContext,
  conflicts: Conflicts,
): void {
  if (sidecar.list === 'initContainers' && !isNativeSidecar(sidecar.container)) return;
  const named = ownObjects(sidecar.container, 'ports').filter((port) => nameOf(port) !== '');
  if (named.length === 0) return;
  for (const [list, container] of appsBehind(pod, sidecar, position)) {
    if (!isApp(container)) continue;
    for (const port of ownObjects(container, 'ports')) {
      if (!named.some((other) => nameOf(other) === nameOf(port) && protocolOf(other) === protocolOf(port)))
        continue;
      const path = `spec.${list}[name=${nameOf(container)}].ports[name=${nameOf(port)}]`;
      const message = `the template's container ${sidecar.name} comes first and has this name too, so Services would send to it: rename one of the ports`;
      conflicts.add(path, message);
    }
  }
}

/** The containers that keep running and come after the place of a sidecar. */
function appsBehind(
  pod: Pod,
  { name, list, override }: Sidecar,
  position: InjectionOptions['position'],
): readonly Neighbour[] {
  const all = list === 'containers' ? containers(pod) : initContainers(pod);
  const end = position === 'first' ? 0 : all.length;
  const at = override?.list === list ? all.findIndex((container) => nameOf(container) === name) : end;
  const [apps, inits] = list === 'containers' ? [all.slice(at), initContainers(pod)] : [[], all.slice(at)];
  return [
    ...apps.map((container): Neighbour => ['containers', container]),
    ...inits.filter(isNativeSidecar).map((container): Neighbour => ['initContainers', container]),
  ];
}

function volumeConflicts(
  pod: Pod,
  template: Template,
  volume: JsonObject,
  findVolume: Find,
  conflicts: Conflicts,
): void {
  const name = nameOf(volume);
  const existing = findVolume(name);
  if (!existing) return;
  if (!sameVolume(existing, volume)) {
    conflicts.add(
      `spec.volumes[name=${name}]`,
      'the template has another volume of this name: rename one of them',
    );
    return;
  }
  const holders = [
    { volumeMounts: template.volumeMounts },
    ...template.containers,
    ...template.initContainers,
  ];
  for (const [list, container] of listed(pod)) {
    for (const [mine, others, message] of USES) {
      if (!uses(container, mine, name) || !holders.some((holder) => uses(holder, others, name))) continue;
      conflicts.add(`spec.${list}[name=${nameOf(container)}].${mine}[name=${name}]`, message);
    }
  }
}

/** A volume is a file system or a device, for all containers of a pod. */
const USES = [
  [
    'volumeDevices',
    'volumeMounts',
    'the template mounts this volume, which cannot be a device at the same time: use another volume',
  ],
  [
    'volumeMounts',
    'volumeDevices',
    'the template uses this volume as a device, which cannot be mounted: use another volume',
  ],
] as const;

function uses(holder: JsonObject, list: 'volumeDevices' | 'volumeMounts', volume: string): boolean {
  return ownObjects(holder, list).some((item) => nameOf(item) === volume);
}

function listed(pod: Pod): readonly Neighbour[] {
  return (['containers', 'initContainers'] as const).flatMap((list) =>
    ownObjects(own(pod, 'spec'), list).map((container): Neighbour => [list, container]),
  );
}

/** Each address has one alias, so a conflict is a pod's alias without all names of the template's. */
function hostAliasConflicts(alias: JsonObject, findAlias: Find, conflicts: Conflicts): void {
  const ip = ownString(alias, 'ip') ?? '';
  const existing = findAlias(ip);
  const wanted = own(alias, 'hostnames');
  if (!existing || !isArray(wanted)) return;
  const hostnames = own(existing, 'hostnames');
  const known = new Set(isArray(hostnames) ? hostnames : []);
  if (wanted.every((hostname) => known.has(hostname))) return;
  conflicts.add(
    `spec.hostAliases[ip=${ip}]`,
    'the template has other names for this address: add them to the entry of the pod',
  );
}

function mountConflicts(
  container: JsonObject,
  mount: JsonObject,
  findMount: Find,
  findDevice: Find,
  conflicts: Conflicts,
): void {
  const place = placeOf(ownString(mount, 'mountPath') ?? '');
  const message = `the template mounts ${nameOf(mount)} there: change one of the paths`;
  const at = `spec.containers[name=${nameOf(container)}]`;
  const [existing, device] = [findMount(place), findDevice(place)];
  if (existing && nameOf(existing) !== nameOf(mount)) {
    conflicts.add(`${at}.volumeMounts[mountPath=${ownString(existing, 'mountPath')}]`, message);
  }
  if (device) conflicts.add(`${at}.volumeDevices[devicePath=${ownString(device, 'devicePath')}]`, message);
}

/** Finds what the container mounts at a place (`placeOf`). */
export function mountFinder(container: JsonObject): Find {
  return finder(ownObjects(container, 'volumeMounts'), (mount) =>
    placeOf(ownString(mount, 'mountPath') ?? ''),
  );
}

/** Finds the device that the container has at a place. */
function deviceFinder(container: JsonObject): Find {
  return finder(ownObjects(container, 'volumeDevices'), (device) =>
    placeOf(ownString(device, 'devicePath') ?? ''),
  );
}
