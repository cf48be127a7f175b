import type { Findings } from '../../util/diagnostic.ts';
import { isObject, type JsonObject, own, ownString } from '../../util/json.ts';
import type { Path } from '../../util/path.ts';
import { isNativeSidecar } from '../podspec/pod.ts';
import {
  containerFindings,
  envFindings,
  initContainerFindings,
  mountFindings,
} from '../podspec/rules/container-rules.ts';
import { formatPort, PortIndex } from '../podspec/rules/ports.ts';
import { duplicates, isSet, items } from '../podspec/rules/rules.ts';
import { volumeFindings } from '../podspec/rules/volume-rules.ts';

/** A limit for the search in each pod. A tenth of it would already be a mistake. */
const MAX_CONTAINERS = 100;

/** What is wrong with a template of the right shape: as a whole, in its containers and in its volumes. */
export function* fragmentFindings(spec: JsonObject, path: Path): Findings {
  yield* containerListFindings(spec, path);
  for (const [volume, at] of items(spec, 'volumes', path)) yield* volumeFindings(volume, at);
  yield* duplicates(items(spec, 'volumes', path), name, 'name');
  yield* envFindings(spec, path);
  yield* duplicates(items(spec, 'env', path), name, 'name');
  yield* mountFindings(spec, path);
  yield* danglingMounts(volumesOf(spec), spec, path);
}

function* containerListFindings(spec: JsonObject, path: Path): Findings {
  for (const [container, at] of items(spec, 'containers', path)) {
    yield* containerFindings(container, at);
    for (const field of ['restartPolicy', 'restartPolicyRules']) {
      if (!isSet(container, field)) continue;
      const message =
        'allowed only in init containers: move the container to initContainers for a native sidecar';
      yield { path: [...at, field], message };
    }
  }
  for (const [container, at] of items(spec, 'initContainers', path)) {
    yield* containerFindings(container, at);
    yield* initContainerFindings(container, at);
  }
  const all = [...items(spec, 'containers', path), ...items(spec, 'initContainers', path)];
  if (all.length > MAX_CONTAINERS) {
    const message = `must be at most ${MAX_CONTAINERS} with initContainers, got ${all.length}: remove some`;
    yield { path: [...path, 'containers'], message };
  }
  yield* duplicates(all, name, 'name');
  const volumes = volumesOf(spec);
  for (const [container, at] of all) {
    yield* danglingMounts(volumes, container, at);
    const resources = own(container, 'resources');
    if (isObject(resources) && isSet(resources, 'claims')) {
      const message = 'a template cannot add resource claims to a pod: remove them';
      yield { path: [...at, 'resources', 'claims'], message };
    }
  }
  const natives = [...items(spec, 'initContainers', path)].filter(([container]) =>
    isNativeSidecar(container),
  );
  yield* sharedPorts([...items(spec, 'containers', path), ...natives]);
}

/** Mounts of volumes that the template does not add: a pod may lack them. */
function* danglingMounts(volumes: ReadonlySet<string | undefined>, holder: JsonObject, path: Path): Findings {
  for (const list of ['volumeMounts', 'volumeDevices']) {
    for (const [mount, at] of items(holder, list, path)) {
      if (volumes.has(name(mount))) continue;
      const message = `the template has no volume ${name(mount)}: add it to volumes`;
      yield { path: [...at, 'name'], message };
    }
  }
}

/** Ports that two containers that run at the same time cannot share. */
function* sharedPorts(containers: readonly (readonly [JsonObject, Path])[]): Findings {
  const taken = new PortIndex<JsonObject>();
  for (const [container, path] of containers) {
    const ports = [...items(container, 'ports', path)];
    for (const [port, at] of ports) {
      const others = new Set<JsonObject>();
      for (const { owner, field } of taken.collisionsOf(port)) {
        if (others.has(owner)) continue;
        others.add(owner);
        const message = `container ${name(owner)} has ${formatPort(port, field)} too: change one`;
        yield { path: [...at, field], message };
      }
    }
    for (const [port] of ports) taken.add(container, port);
  }
}

function volumesOf(spec: JsonObject): ReadonlySet<string | undefined> {
  return new Set([...items(spec, 'volumes', [])].map(([volume]) => name(volume)));
}

function name(item: JsonObject): string | undefined {
  return ownString(item, 'name');
}
