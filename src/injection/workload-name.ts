import type { Findings, Path } from '../util/diagnostic.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, ownString } from '../util/json.ts';
import { annotation, controllerIn, label, type Pod } from './podspec/pod.ts';
import type { PodSite } from './podspec/workload.ts';
import { CUSTOM_KINDS, WORKLOAD_KINDS } from './podspec/workload-kinds.ts';
import { type Template, WORKLOAD_NAME } from './template/template.ts';

/** The limit of label values, where such names usually end up. */
const MAX_LENGTH = 63;

/**
 * The name of the workload that the user created for the pod, from the pod's metadata alone. It is the name of the
 * pod's controller, without the suffix if another workload created that controller.
 */
function workloadName(pod: Pod): string {
  const owner = controllerIn(pod);
  if (owner) return creatorName({ kind: ownString(owner, 'kind'), name: ownString(owner, 'name') }, pod);
  return givenName(own(pod, 'metadata'));
}

/** The name of the workload whose pod template is injected; undefined for a pod itself. */
export function workloadOf({ object, pod }: Pick<PodSite, 'object' | 'pod'>): string | undefined {
  if (object === pod) return undefined;
  return creatorName({ kind: ownString(object, 'kind'), name: givenName(own(object, 'metadata')) }, pod);
}

/** The API server cuts the name before the five characters that it makes up (k8s.io/apiserver, names/generate.go). */
const MAX_GENERATED = 58;

/** The name that the user gave; of a generated name the part before the characters of the API server. */
function givenName(metadata: JsonValue | undefined): string {
  const [name = '', base = ''] = [ownString(metadata, 'name'), ownString(metadata, 'generateName')];
  const kept = base.slice(0, MAX_GENERATED);
  const isGenerated = base !== '' && name.startsWith(kept) && name.length === kept.length + 5;
  return name === '' || isGenerated ? base : name;
}

/** The name of what has created the controller of a pod, such as its Deployment; the controller's if it is unknown. */
export function creatorName(
  { kind, name = '' }: { readonly kind: string | undefined; readonly name: string | undefined },
  pod: Pod,
): string {
  for (const { nameKey } of CUSTOM_KINDS) {
    const said = nameKey === undefined ? undefined : label(pod, nameKey) || annotation(pod, nameKey);
    if (said) return said;
  }
  const suffix = WORKLOAD_KINDS.find((each) => each.kind === kind)?.nameSuffix;
  if (!suffix) return name;
  if ('pattern' in suffix) return name.replace(suffix.pattern, '');
  const hashes = suffix.labels.map((key) => label(pod, key));
  const hash = hashes.find((value) => value && name.endsWith(`-${value}`));
  return hash === undefined ? name : name.slice(0, -hash.length - 1);
}

function cut(name: string): string {
  return name.slice(0, MAX_LENGTH).replace(/[-_.]+$/, '');
}

/** The template with the name of the workload in place of `${workload.name}`. A known name takes precedence. */
export function forWorkload(template: Template, pod: Pod, known: string | undefined): Template {
  if (!template.namesWorkload) return template;
  const name = cut(known ?? workloadName(pod));
  const named = (list: readonly JsonObject[]) => list.map((item) => replaced(item, name) as JsonObject);
  const { containers, initContainers, env } = template;
  return {
    ...template,
    containers: named(containers),
    initContainers: named(initContainers),
    env: named(env),
  };
}

function replaced(value: JsonValue, name: string): JsonValue {
  if (typeof value === 'string') return value.replaceAll(WORKLOAD_NAME, () => name);
  if (isArray(value)) return value.map((item) => replaced(item, name));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaced(item, name)]));
}

/** Findings for placeholders that are misspelt, or not in values of variables, commands and arguments. */
export function* placeholderFindings(value: JsonValue, path: Path): Findings {
  if (typeof value === 'string') {
    const [found] = /\$\{workload\.[^}]*\}/.exec(value.replaceAll(WORKLOAD_NAME, '')) ?? [];
    if (found !== undefined) yield { path, message: `unknown placeholder ${found}: write ${WORKLOAD_NAME}` };
    else if (value.includes(WORKLOAD_NAME) && !isPlaceFor(path)) {
      yield {
        path,
        message: `${WORKLOAD_NAME} is allowed only in env values, command and args: remove it here`,
      };
    }
  } else if (isArray(value)) {
    for (const [index, item] of value.entries()) yield* placeholderFindings(item, [...path, index]);
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) yield* placeholderFindings(item, [...path, key]);
  }
}

function isPlaceFor(path: Path): boolean {
  const [list, , key] = path.slice(-3);
  return (list === 'env' && key === 'value') || ['args', 'command'].includes(String(path.at(-2)));
}
