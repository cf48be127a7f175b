import { finder } from '../util/finder.ts';
import { isArray, type JsonObject, own, ownObjects, ownString } from '../util/json.ts';
import type { EnvoyFiles } from './envoy/files.ts';
import { listeningPorts } from './envoy/listening-ports.ts';
import { placeOf } from './podspec/mount-path.ts';
import {
  containerFinder,
  isNativeSidecar,
  nameOf,
  type PlacedContainer,
  type Pod,
  volumes,
} from './podspec/pod.ts';
import { formatPort, PortIndex, protocolOf } from './podspec/rules/ports.ts';
import { sameVolume } from './podspec/rules/same-volume.ts';
import type { PodDiagnostic } from './rules/index.ts';
import type { Sidecar } from './sidecar.ts';
import type { InjectionOptions } from './template/options.ts';
import { hasShape } from './template/pod-shapes.ts';
import type { Template } from './template/template.ts';

interface Context {
  readonly pod: Pod;
  /** The containers of the pod. */
  readonly all: readonly PlacedContainer[];
  readonly template: Template;
  readonly sidecars: readonly Sidecar[];
  /** Whether a container is the application's, and of no template. */
  readonly isApp: (container: JsonObject) => boolean;
  readonly position: InjectionOptions['position'];
  /** What Envoy reads, if it is known. */
  readonly envoyFiles?: EnvoyFiles | undefined;
}

/** The path is empty for what is about the whole pod. */
type Conflicts = Generator<readonly [path: string, message: string], void>;

/** All conflicts of a template with a pod, each at its place, such as `spec.volumes[name=data]`; empty if it fits. */
export function findConflicts(context: Context): readonly PodDiagnostic[] {
  const found = [
    ...shapeConflicts(context),
    ...nameConflicts(context),
    ...portConflicts(context),
    ...volumeConflicts(context),
    ...hostAliasConflicts(context),
    ...mountConflicts(context),
  ];
  return found.map(([path, message]) => {
    return { severity: 'warning', reason: 'conflict', ...(path !== '' && { path }), message };
  });
}

function pathOf({ list, container }: PlacedContainer): string {
  return `spec.${list}[name=${nameOf(container)}]`;
}

/** The API server refuses pods of this shape with the template. */
function* shapeConflicts({ pod, template }: Context): Conflicts {
  for (const { shape, message } of template.incompatibleShapes)
    if (hasShape(pod, shape))
      yield ['', `the API server refuses template ${template.name} in pods with ${shape.name}: ${message}`];
}

/** Containers of every kind share one space of names. */
function* nameConflicts({ pod, sidecars }: Context): Conflicts {
  const find = containerFinder(pod);
  for (const { name, override } of sidecars) {
    const other = override ? undefined : find(name);
    if (other) yield [pathOf(other), 'the template has a container of this name: rename one of them'];
  }
}

/** Whether it runs beside the others, which share the pod's ports. Init containers that end do not. */
function keepsRunning({ list, container }: Pick<PlacedContainer, 'list' | 'container'>): boolean {
  return list === 'containers' || isNativeSidecar(container);
}

function* portConflicts({ pod, all, template, sidecars, isApp, position, envoyFiles }: Context): Conflicts {
  const mounted = [...volumes(pod), ...template.volumes];
  const listening = (container: JsonObject) => listeningPorts(container, mounted, envoyFiles);
  const names = new Set(sidecars.map(({ name }) => name));
  const taken = new PortIndex<PlacedContainer>();
  for (const each of all) {
    const { container } = each;
    if (!keepsRunning(each) || names.has(nameOf(container))) continue;
    // The application's probes may be meant for Envoy.
    const ports = isApp(container) ? ownObjects(container, 'ports') : listening(container);
    for (const port of ports) taken.add(each, port);
  }
  for (const sidecar of sidecars) {
    if (!keepsRunning(sidecar)) continue;
    for (const port of listening(sidecar.container)) {
      for (const { owner, port: other, field } of taken.collisionsOf(port)) {
        const path = `${pathOf(owner)}.ports[${field}=${formatPort(other, field)}]`;
        yield [path, `the template's container ${sidecar.name} also uses it: change one of the ports`];
      }
    }
    const named = ownObjects(sidecar.container, 'ports').filter((port) => nameOf(port) !== '');
    if (named.length === 0) continue;
    for (const each of placedBehind(all, sidecar, position)) {
      if (!isApp(each.container)) continue;
      for (const port of ownObjects(each.container, 'ports')) {
        const isSame = (other: JsonObject) =>
          nameOf(other) === nameOf(port) && protocolOf(other) === protocolOf(port);
        if (!named.some(isSame)) continue;
        const message = `the template's container ${sidecar.name} is first and has a port of this name, so Services would use it: rename one of the ports`;
        yield [`${pathOf(each)}.ports[name=${nameOf(port)}]`, message];
      }
    }
  }
}

/**
 * The containers that keep running behind the place of a sidecar. A Service that names its port sends to the first container
 * that has the name (k8s.io/endpointslice, FindPort): first among the containers, then among the native sidecars.
 */
function placedBehind(
  all: readonly PlacedContainer[],
  { list, override }: Sidecar,
  position: InjectionOptions['position'],
): readonly PlacedContainer[] {
  const end = position === 'first' ? 0 : Number.POSITIVE_INFINITY;
  const at = override?.list === list ? override.index : end;
  const isBehind = (each: PlacedContainer) => (each.list === list ? each.index >= at : list === 'containers');
  return all.filter((each) => isBehind(each) && keepsRunning(each));
}

/** A volume is a file system or a device, for all containers of a pod. */
const USES = [
  ['volumeDevices', 'volumeMounts', 'mounts this volume, which cannot be a device at the same time'],
  ['volumeMounts', 'volumeDevices', 'uses this volume as a device, which cannot be mounted'],
] as const;

function* volumeConflicts({ pod, all, template }: Context): Conflicts {
  const find = finder(volumes(pod), nameOf);
  const holders = [
    { volumeMounts: template.volumeMounts },
    ...template.containers,
    ...template.initContainers,
  ];
  for (const volume of template.volumes) {
    const name = nameOf(volume);
    const existing = find(name);
    if (!existing) continue;
    if (!sameVolume(existing, volume)) {
      yield [
        `spec.volumes[name=${name}]`,
        'the template has another volume of this name: rename one of them',
      ];
      continue;
    }
    const uses = (holder: JsonObject, list: string) =>
      ownObjects(holder, list).some((item) => nameOf(item) === name);
    for (const each of all) {
      for (const [mine, others, message] of USES) {
        if (uses(each.container, mine) && holders.some((holder) => uses(holder, others)))
          yield [`${pathOf(each)}.${mine}[name=${name}]`, `the template ${message}: use another volume`];
      }
    }
  }
}

/** Each address has one alias, so a conflict is a pod's alias without all names of the template's. */
function* hostAliasConflicts({ pod, template }: Context): Conflicts {
  const find = finder(ownObjects(own(pod, 'spec'), 'hostAliases'), (alias) => ownString(alias, 'ip'));
  for (const alias of template.hostAliases) {
    const ip = ownString(alias, 'ip') ?? '';
    const existing = find(ip);
    const [wanted, known] = [own(alias, 'hostnames'), own(existing, 'hostnames')];
    if (!existing || !isArray(wanted)) continue;
    const names = new Set(isArray(known) ? known : []);
    if (wanted.every((name) => names.has(name))) continue;
    const message = "the template has other names for this address: add them to the pod's entry";
    yield [`spec.hostAliases[ip=${ip}]`, message];
  }
}

function* mountConflicts({ all, template, isApp }: Context): Conflicts {
  if (template.volumeMounts.length === 0) return;
  for (const each of all) {
    const { list, container } = each;
    if (list === 'initContainers' || !isApp(container)) continue;
    const finderOf = (field: string, path: string) =>
      finder(ownObjects(container, field), (item) => placeOf(ownString(item, path) ?? ''));
    const findMount = finderOf('volumeMounts', 'mountPath');
    const findDevice = finderOf('volumeDevices', 'devicePath');
    const at = pathOf(each);
    for (const mount of template.volumeMounts) {
      const place = placeOf(ownString(mount, 'mountPath') ?? '');
      const message = `the template mounts ${nameOf(mount)} there: change one of the paths`;
      const [existing, device] = [findMount(place), findDevice(place)];
      if (existing && nameOf(existing) !== nameOf(mount))
        yield [`${at}.volumeMounts[mountPath=${ownString(existing, 'mountPath')}]`, message];
      if (device) yield [`${at}.volumeDevices[devicePath=${ownString(device, 'devicePath')}]`, message];
    }
  }
}
