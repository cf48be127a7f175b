import { type Fault, type Findings, toFaults } from './fault.ts';
import { isObject, type JsonObject, type JsonValue, own } from './json.ts';
import type { Path } from './path.ts';
import { metadataFindings, podFindings } from './pod-rules.ts';
import { POD_SCHEMA } from './pod-schema.ts';
import type { ObjectSchema } from './schema.ts';
import { checkObject } from './schema-check.ts';
import { prepareTemplate, type Template } from './template.ts';
import { fragmentFindings } from './template-rules.ts';
import { parseYaml } from './yaml.ts';

export type ParsedTemplate = { readonly template: Template } | { readonly faults: readonly Fault[] };

/** What a template may add to the spec of a pod. */
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
  spec: { type: 'TemplateSpec', required: true },
};

/**
 * Parses and checks a template: either the bare fragment of a pod's spec (`containers: …`) or
 * `{metadata, spec}`. `source` is the key that the text comes from, and names it in faults. Never throws:
 * whatever is wrong comes back as faults, all of them at once.
 */
export function parseTemplate(source: string, name: string, text: string): ParsedTemplate {
  const parsed = parseYaml(text);
  if ('error' in parsed) {
    return { faults: [{ source, path: '', ...parsed.location, message: parsed.error }] };
  }
  const faults = toFaults(source, findings(parsed.value), parsed.locate);
  if (faults.length > 0) return { faults };
  const [metadata, spec] = isWhole(parsed.value)
    ? [own(parsed.value, 'metadata') ?? {}, own(parsed.value, 'spec') ?? {}]
    : [{}, parsed.value];
  return { template: prepareTemplate(name, metadata, spec) };
}

function* findings(value: JsonValue): Findings {
  const whole = isWhole(value);
  const shape = [...checkObject(value, whole ? TEMPLATE : SPEC, TYPES, [])];
  yield* shape;
  // The rules read fields as what the schema says they are.
  if (shape.length > 0 || !isObject(value)) return;
  if (whole) yield* metadataFindings((own(value, 'metadata') ?? {}) as JsonObject, ['metadata']);
  const path: Path = whole ? ['spec'] : [];
  const spec = (whole ? own(value, 'spec') : value) as JsonObject;
  yield* podFindings(spec, path);
  yield* fragmentFindings(spec, path);
}

function isWhole(value: JsonValue): boolean {
  return own(value, 'spec') !== undefined || own(value, 'metadata') !== undefined;
}
