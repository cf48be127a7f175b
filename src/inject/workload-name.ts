import type { Findings } from './fault.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, ownObjects, ownString } from './json.ts';
import type { Path } from './path.ts';
import { label, type Pod } from './pod.ts';
import type { Template } from './template.ts';

const PLACEHOLDER = `\${workload.name}`;
/** A label takes no more, and that is where such names mostly end up. */
const MAX_LENGTH = 63;

/**
 * The name of what a user has made that the pod belongs to, as its metadata has it, without asking anybody: a pod of a
 * Deployment is controlled by a ReplicaSet, whose name ends in the hash that is also a label; one of a CronJob by a Job,
 * whose name ends in the minutes since 1970 (k8s.io/kubernetes/pkg/controller/cronjob, getJobName).
 */
function workloadName(pod: Pod): string {
  const metadata = own(pod, 'metadata');
  const owner = ownObjects(metadata, 'ownerReferences').find((each) => own(each, 'controller') === true);
  if (owner) return withoutSuffix(owner, label(pod, 'pod-template-hash'));
  return ownString(metadata, 'name') || (ownString(metadata, 'generateName') ?? '');
}

function withoutSuffix(owner: JsonObject, hash: string | undefined): string {
  const name = ownString(owner, 'name') ?? '';
  const kind = ownString(owner, 'kind');
  if (kind === 'ReplicaSet' && hash && name.endsWith(`-${hash}`)) return name.slice(0, -hash.length - 1);
  return kind === 'Job' ? name.replace(/-\d{8,10}$/, '') : name;
}

function cut(name: string): string {
  return name.slice(0, MAX_LENGTH).replace(/[-_.]+$/, '');
}

/** Whether any part of a template is to say the name of the workload. */
export function namesWorkload(spec: JsonValue): boolean {
  return JSON.stringify(spec).includes(PLACEHOLDER);
}

/** The template with the name of a pod's workload, if that is not known otherwise, in the place of `${workload.name}`. */
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
  if (typeof value === 'string') return value.replaceAll(PLACEHOLDER, () => name);
  if (isArray(value)) return value.map((item) => replaced(item, name));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaced(item, name)]));
}

/** The places that may say it: values of variables, commands and arguments. Elsewhere, and misspelt, it is a fault. */
export function* placeholderFindings(value: JsonValue, path: Path): Findings {
  if (typeof value === 'string') {
    const [found] = /\$\{workload\.[^}]*\}/.exec(value.replaceAll(PLACEHOLDER, '')) ?? [];
    if (found !== undefined) yield { path, message: `there is no ${found}: write ${PLACEHOLDER}` };
    else if (value.includes(PLACEHOLDER) && !isPlaceFor(path)) {
      yield {
        path,
        message: `${PLACEHOLDER} is for values of env, for command and for args: remove it here`,
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
