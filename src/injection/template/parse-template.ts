import { counted } from '../../util/clip.ts';
import {
  type Findings,
  locateAll,
  type Parsed,
  type Path,
  type TextDiagnostic,
} from '../../util/diagnostic.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownList,
  ownObject,
  ownObjects,
  ownString,
} from '../../util/json.ts';
import { checkYaml } from '../../util/yaml.ts';
import { proxyUserFaults } from '../envoy/capture.ts';
import { readsConfiguration } from '../envoy/configuration-age.ts';
import { oldImage } from '../envoy/image-age.ts';
import { AUTO_IMAGE, placedContainers } from '../podspec/pod.ts';
import { ENFORCE_LABEL, podSecurityOf, podSecurityViolations } from '../podspec/pod-security.ts';
import { DEFAULT_GRACE_PERIOD, longestSleep } from '../podspec/rules/grace-period.ts';
import { POD_SCHEMA } from '../podspec/schema/pod-schema.ts';
import { checkObject, type FieldSchema, type ObjectSchema } from '../podspec/schema/schema.ts';
import { isOfMetadata, KINDS, type Kind, prepareTemplate, type Template } from './template.ts';

interface CheckedTemplate {
  readonly template: Template;
  readonly advice: readonly TextDiagnostic[];
}

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
export function parseTemplate(source: string, name: string, text: string): Parsed<CheckedTemplate> {
  const shape = (value: JsonValue) => checkObject(value, partsOf(value).whole ? TEMPLATE : SPEC, TYPES, []);
  const parsed = checkYaml(source, text, shape, ruleFindings);
  if ('faults' in parsed) return parsed;
  const { whole, metadata, spec } = partsOf(parsed.value);
  const found = templateAdvice(spec, whole ? ['spec'] : []);
  const advice = locateAll(source, 'warning', found, parsed.locate);
  return { template: prepareTemplate(name, metadata, spec), advice };
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
  const all = containersIn(spec, path);
  if (all.length > MAX_CONTAINERS) {
    const message = `at most ${MAX_CONTAINERS} in total with initContainers, got ${all.length}: remove some`;
    yield { path: [...path, 'containers'], message };
  }
  for (const [container, at] of all) {
    const image = ownString(container, 'image') ?? '';
    if (image === '') yield { path: [...at, 'image'], message: 'required: set the image to run' };
    if (image !== AUTO_IMAGE) continue;
    const message = `${AUTO_IMAGE} is only for pods that override the template: set an image`;
    yield { path: [...at, 'image'], message };
  }
}

/** `whole`: it is `{metadata, spec}`, which has fields of its own. */
function partsOf(value: JsonValue) {
  const whole = ['metadata', 'spec'].some((part) => own(value, part) !== undefined);
  const bare: JsonObject = isObject(value) ? value : {};
  return { whole, metadata: ownObject(value, 'metadata'), spec: whole ? ownObject(value, 'spec') : bare };
}

/** The containers and init containers, each with its path. */
function containersIn(spec: JsonObject, path: Path): readonly (readonly [JsonObject, Path])[] {
  return placedContainers({ spec }).map(({ container, list, index }) => [container, [...path, list, index]]);
}

function isEmpty(object: JsonObject): boolean {
  return Object.values(object).every((value) => value === null || Object.keys(value).length === 0);
}

/** Warnings about a valid template: things that its author may not have meant. */
function* templateAdvice(spec: JsonObject, path: Path): Findings {
  const all = containersIn(spec, path);
  for (const [container, at] of all) {
    for (const message of oldImage(container, readsConfiguration(container, { spec }))) {
      yield { path: [...at, 'image'], message };
    }
    yield* flagAdvice(container, at);
  }
  const sidecars = {
    containers: ownObjects(spec, 'containers'),
    initContainers: ownObjects(spec, 'initContainers'),
  };
  for (const message of proxyUserFaults({ spec }, [sidecars])) yield { path, message };
  const seconds = longestSleep(all.map(([container]) => container));
  if (seconds > DEFAULT_GRACE_PERIOD) {
    const message = `a hook sleeps for ${seconds} seconds: if terminationGracePeriodSeconds (default ${DEFAULT_GRACE_PERIOD}) is less, preStop is shortened, and postStart blocks injection`;
    yield { path, message };
  }
  yield* securityAdvice(spec, path);
}

/** Envoy's flag parser (TCLAP, with a blank as delimiter) exits with "Couldn't find match". */
function* flagAdvice(container: JsonObject, path: Path): Findings {
  if (!ownString(container, 'image')?.includes('envoy')) return;
  for (const field of ['command', 'args']) {
    for (const [index, argument] of ownList(container, field).entries()) {
      const [, flag, value] = /^(--[a-z0-9-]+)=(.*)$/.exec(String(argument)) ?? [];
      if (flag === undefined) continue;
      const message = `Envoy does not accept "=" after a flag: write "${flag}" and "${value}" as two entries`;
      yield { path: [...path, field, index], message };
    }
  }
}

/** The security context of a pod that meets the level restricted. The template adds to it. */
const CAREFUL: JsonObject = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };

function* securityAdvice(spec: JsonObject, path: Path): Findings {
  const pod = { spec: { ...spec, securityContext: { ...CAREFUL, ...ownObject(spec, 'securityContext') } } };
  for (const level of ['baseline', 'restricted']) {
    const [first, ...more] = podSecurityViolations(pod, podSecurityOf({ [ENFORCE_LABEL]: level }));
    if (first === undefined) continue;
    const others = more.length > 0 ? ` (and ${counted(more.length, 'more violation')})` : '';
    const message = `not injected in namespaces that enforce ${level} pod security: ${first}${others}`;
    yield { path, message };
    return;
  }
}
