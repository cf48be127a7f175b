import {
  type Findings,
  formatPath,
  locateAll,
  type Path,
  type TextDiagnostic,
  textError,
} from '../../util/diagnostic.ts';
import { isObject, type JsonObject, type JsonValue, own, ownString } from '../../util/json.ts';
import { checkYaml, parseYaml } from '../../util/yaml.ts';
import { isNativeSidecar } from '../podspec/pod.ts';
import {
  containerFindings,
  envFindings,
  initContainerFindings,
  mountFindings,
} from '../podspec/rules/container-rules.ts';
import { formatPort, PortIndex } from '../podspec/rules/ports.ts';
import {
  duplicates,
  isSet,
  items,
  metadataFindings,
  podFindings,
  volumeFindings,
} from '../podspec/rules/rules.ts';
import { POD_SCHEMA } from '../podspec/schema/pod-schema.ts';
import type { ObjectSchema } from '../podspec/schema/schema.ts';
import { checkObject } from '../podspec/schema/schema-check.ts';
import { placeholderFindings } from '../workload-name.ts';
import { prepareTemplate, type Template } from './template.ts';
import { templateAdvice } from './template-advice.ts';

type ParsedTemplate =
  | {
      readonly template: Template;
      /** Warnings about it. */
      readonly advice: readonly TextDiagnostic[];
    }
  | { readonly faults: readonly TextDiagnostic[] };

/** The fields that a template may add to the spec of a pod. */
export const SPEC: ObjectSchema = {
  containers: { type: 'Container', list: true },
  initContainers: { type: 'Container', list: true },
  volumes: { type: 'Volume', list: true },
  imagePullSecrets: { type: 'LocalObjectReference', list: true },
  hostAliases: { type: 'HostAlias', list: true },
  securityContext: { type: 'PodSecurityContext' },
  dnsConfig: { type: 'PodDNSConfig' },
  env: { type: 'EnvVar', list: true },
  volumeMounts: { type: 'VolumeMount', list: true },
};
/** And to its metadata. */
export const METADATA: ObjectSchema = {
  labels: { type: 'string', map: true },
  annotations: { type: 'string', map: true },
};
const TYPES = { ...POD_SCHEMA, TemplateSpec: SPEC, TemplateMetadata: METADATA };
const TEMPLATE: ObjectSchema = {
  metadata: { type: 'TemplateMetadata' },
  spec: { type: 'TemplateSpec' },
};

/**
 * Parses and checks a template: either the bare fragment of a pod's spec (`containers: …`) or
 * `{metadata, spec}`. `source` is the key of the text, for faults. Never throws: returns all faults at once.
 */
export function parseTemplate(source: string, name: string, text: string): ParsedTemplate {
  const parsed = checkYaml(source, text, schemaFindings, ruleFindings);
  if ('faults' in parsed) return parsed;
  const { whole, metadata, spec } = partsOf(parsed.value);
  const found = templateAdvice(spec, whole ? ['spec'] : []);
  const advice = locateAll(source, 'warning', found, parsed.locate);
  return { template: prepareTemplate(name, metadata, spec), advice };
}

/**
 * What the API server refuses in a text that is a valid template. The path starts with `metadata` or with a field of the
 * template's spec; undefined for the whole text.
 */
export function refusalAt(
  source: string,
  text: string,
  path: Path | undefined,
  message: string,
): TextDiagnostic {
  const refusal = { ...textError(source, message), reason: 'refused' };
  if (path === undefined) return refusal;
  const parsed = parseYaml(text);
  if ('error' in parsed) return { ...refusal, path: formatPath(path) };
  const full = partsOf(parsed.value).whole && path[0] !== 'metadata' ? ['spec', ...path] : path;
  return { ...refusal, path: formatPath(full), ...parsed.locate(full) };
}

function schemaFindings(value: JsonValue): Findings {
  return checkObject(value, partsOf(value).whole ? TEMPLATE : SPEC, TYPES, []);
}

function* ruleFindings(value: JsonValue): Findings {
  const { whole, metadata, spec } = partsOf(value);
  if (isEmpty(metadata) && isEmpty(spec)) {
    yield { path: [], message: 'is empty: add at least one container' };
  }
  yield* metadataFindings(metadata, ['metadata']);
  const path: Path = whole ? ['spec'] : [];
  yield* podFindings(spec, path);
  yield* fragmentFindings(spec, path);
  yield* placeholderFindings(metadata, ['metadata']);
  yield* placeholderFindings(spec, path);
}

interface Parts {
  /** Whether it is `{metadata, spec}`, which has fields of its own. */
  readonly whole: boolean;
  readonly metadata: JsonObject;
  readonly spec: JsonObject;
}

function partsOf(value: JsonValue): Parts {
  const [metadata, spec] = [own(value, 'metadata'), own(value, 'spec')];
  if (metadata === undefined && spec === undefined) {
    return { whole: false, metadata: {}, spec: isObject(value) ? value : {} };
  }
  return { whole: true, metadata: isObject(metadata) ? metadata : {}, spec: isObject(spec) ? spec : {} };
}

function isEmpty(object: JsonObject): boolean {
  return Object.values(object).every((value) => value === null || Object.keys(value).length === 0);
}

/** A limit for the search in each pod. A tenth of it would already be a mistake. */
const MAX_CONTAINERS = 100;

/** What is wrong with a template of the right shape: as a whole, in its containers and in its volumes. */
function* fragmentFindings(spec: JsonObject, path: Path): Findings {
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
