import { type Findings, locateAll, type Path, type TextDiagnostic } from '../../util/diagnostic.ts';
import { isObject, type JsonObject, type JsonValue, own, ownString } from '../../util/json.ts';
import { checkYaml } from '../../util/yaml.ts';
import { AUTO_IMAGE } from '../podspec/pod.ts';
import { items } from '../podspec/rules/rules.ts';
import { POD_SCHEMA } from '../podspec/schema/pod-schema.ts';
import type { FieldSchema, ObjectSchema } from '../podspec/schema/schema.ts';
import { checkObject } from '../podspec/schema/schema-check.ts';
import { isOfMetadata, KINDS, type Kind } from './kinds.ts';
import { prepareTemplate, type Template } from './template.ts';
import { templateAdvice } from './template-advice.ts';

type ParsedTemplate =
  | {
      readonly template: Template;
      /** Warnings about it. */
      readonly advice: readonly TextDiagnostic[];
    }
  | { readonly faults: readonly TextDiagnostic[] };

/** The fields that a template may add to the spec of a pod, and to its metadata. */
export const SPEC: ObjectSchema = schemaOf((kind) => !isOfMetadata(kind));
export const METADATA: ObjectSchema = schemaOf(isOfMetadata);
const TYPES = { ...POD_SCHEMA, TemplateSpec: SPEC, TemplateMetadata: METADATA };
const TEMPLATE: ObjectSchema = {
  metadata: { type: 'TemplateMetadata' },
  spec: { type: 'TemplateSpec' },
};

function schemaOf(isWanted: (kind: Kind) => boolean): ObjectSchema {
  const schemas = (Object.keys(KINDS) as Kind[]).filter(isWanted).map((kind): [string, FieldSchema] => {
    const { to, type } = KINDS[kind];
    if (to !== 'map') return [kind, { type, list: true }];
    return [kind, isOfMetadata(kind) ? { type, map: true } : { type }];
  });
  return Object.fromEntries(schemas);
}

/**
 * Parses and checks a template: either the bare fragment of a pod's spec (`containers: …`) or
 * `{metadata, spec}`. `source` is the key of the text, for faults. Never throws: returns all faults at once. What the
 * API server's validation refuses beyond the shape, a dry run shows.
 */
export function parseTemplate(source: string, name: string, text: string): ParsedTemplate {
  const parsed = checkYaml(source, text, schemaFindings, ruleFindings);
  if ('faults' in parsed) return parsed;
  const { whole, metadata, spec } = partsOf(parsed.value);
  const found = templateAdvice(spec, whole ? ['spec'] : []);
  const advice = locateAll(source, 'warning', found, parsed.locate);
  return { template: prepareTemplate(name, metadata, spec), advice };
}

function schemaFindings(value: JsonValue): Findings {
  return checkObject(value, partsOf(value).whole ? TEMPLATE : SPEC, TYPES, []);
}

/** A limit for the search in each pod. A tenth of it would already be a mistake. */
const MAX_CONTAINERS = 100;

/** What a dry run does not show, or too late. */
function* ruleFindings(value: JsonValue): Findings {
  const { whole, metadata, spec } = partsOf(value);
  const path: Path = whole ? ['spec'] : [];
  if (isEmpty(metadata) && isEmpty(spec)) {
    yield { path: [], message: 'is empty: add at least one container' };
  }
  const all = [...items(spec, 'containers', path), ...items(spec, 'initContainers', path)];
  if (all.length > MAX_CONTAINERS) {
    const message = `must be at most ${MAX_CONTAINERS} including initContainers, got ${all.length}: remove some`;
    yield { path: [...path, 'containers'], message };
  }
  for (const [container, at] of all) {
    const image = ownString(container, 'image') ?? '';
    if (image === '') yield { path: [...at, 'image'], message: 'required: write the image to run' };
    if (image !== AUTO_IMAGE) continue;
    const message = `${AUTO_IMAGE} is only for pods that override the template: write an image`;
    yield { path: [...at, 'image'], message };
  }
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
