import { type Fault, type Findings, toFaults } from '../../util/diagnostic.ts';
import { isObject, type JsonObject, type JsonValue, own } from '../../util/json.ts';
import { formatPath, type Path } from '../../util/path.ts';
import { parseYaml } from '../../util/yaml.ts';
import { metadataFindings, podFindings } from '../podspec/rules/pod-rules.ts';
import { POD_SCHEMA } from '../podspec/schema/pod-schema.ts';
import type { ObjectSchema } from '../podspec/schema/schema.ts';
import { checkObject } from '../podspec/schema/schema-check.ts';
import { placeholderFindings } from '../workload-name.ts';
import { prepareTemplate, type Template } from './template.ts';
import { templateAdvice } from './template-advice.ts';
import { fragmentFindings } from './template-rules.ts';

type ParsedTemplate =
  | {
      readonly template: Template;
      /** Warnings about it. */
      readonly advice: readonly Fault[];
    }
  | { readonly faults: readonly Fault[] };

/** The fields that a template may add to the spec of a pod. */
const SPEC: ObjectSchema = {
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
const METADATA: ObjectSchema = {
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
  const parsed = parseYaml(text);
  if ('error' in parsed) {
    return { faults: [{ source, path: '', ...parsed.location, message: parsed.error }] };
  }
  const faults = toFaults(source, findings(parsed.value), parsed.locate);
  if (faults.length > 0) return { faults };
  const { whole, metadata, spec } = partsOf(parsed.value);
  const advice = toFaults(source, templateAdvice(spec, whole ? ['spec'] : []), parsed.locate);
  return { template: prepareTemplate(name, metadata, spec), advice };
}

/**
 * A fault in a text that is a valid template. The path starts with `metadata` or with a field of the template's spec; undefined
 * for the whole text.
 */
export function faultAt(source: string, text: string, path: Path | undefined, message: string): Fault {
  if (path === undefined) return { source, path: '', message };
  const parsed = parseYaml(text);
  if ('error' in parsed) return { source, path: formatPath(path), message };
  const { whole } = partsOf(parsed.value);
  const full = whole && path[0] !== 'metadata' ? ['spec', ...path] : path;
  return { source, path: formatPath(full), ...parsed.locate(full), message };
}

function* findings(value: JsonValue): Findings {
  const { whole, metadata, spec } = partsOf(value);
  let isSound = true;
  for (const finding of checkObject(value, whole ? TEMPLATE : SPEC, TYPES, [])) {
    isSound = false;
    yield finding;
  }
  // The rules rely on the types that the schema has checked.
  if (!isSound) return;
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
