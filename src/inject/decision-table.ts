import { isPodCreation } from './admission-target.ts';
import { AUTO_IMAGE } from './container-rules.ts';
import type { Subject } from './decide.ts';
import { own } from './json.ts';
import type { OptInSource } from './opt-in.ts';
import { annotation, containerFinder, containers, nameOf, specField } from './pod.ts';
import { clip, type SkipReason } from './reason.ts';
import { isInjected, parseStatus } from './status.ts';

/** Namespaces of the cluster itself: a sidecar there can take the whole of it down. */
export const SYSTEM_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease'];
/** Marks the image, in the API server, of a pod that a kubelet runs from a file. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** One reason to leave a pod as it is. */
interface Row {
  readonly reason: SkipReason;
  /** Says in one sentence what it found, or nothing. */
  readonly find: (subject: Subject) => string | undefined;
  /** Whether who creates the pod is told; `asked`: if the pod itself opted in, and not its namespace. */
  readonly warn: boolean | 'asked';
}

/** The decision table, in the order of its rows. */
export const ROWS: readonly Row[] = [
  { reason: 'not-a-pod-create', find: notAPodCreate, warn: false },
  { reason: 'system-namespace', find: systemNamespace, warn: 'asked' },
  { reason: 'operator-namespace', find: operatorNamespace, warn: 'asked' },
  { reason: 'mirror-pod', find: mirrorPod, warn: false },
  { reason: 'windows', find: windows, warn: 'asked' },
  { reason: 'host-network', find: hostNetwork, warn: 'asked' },
  { reason: 'no-containers', find: noContainers, warn: false },
  { reason: 'invalid-value', find: invalidValue, warn: true },
  { reason: 'opted-out', find: optedOut, warn: false },
  { reason: 'not-opted-in', find: notOptedIn, warn: false },
  { reason: 'no-template', find: noTemplate, warn: true },
  { reason: 'unknown-template', find: unknownTemplate, warn: true },
  { reason: 'already-injected', find: alreadyInjected, warn: false },
  { reason: 'container-exists', find: containerExists, warn: true },
];

function notAPodCreate({ request }: Subject): string | undefined {
  if (isPodCreation(request)) return undefined;
  const { resource } = request.resource;
  const name = request.subResource ? `${resource}/${request.subResource}` : resource;
  return `only the creation of pods is looked at, not ${request.operation} of ${name}`;
}

function systemNamespace({ request: { namespace } }: Subject): string | undefined {
  return SYSTEM_NAMESPACES.includes(namespace)
    ? `${namespace} belongs to the cluster itself, where no pod is injected`
    : undefined;
}

function operatorNamespace({ request: { namespace }, options }: Subject): string | undefined {
  return namespace === options.operatorNamespace
    ? `${namespace} is the injector's own namespace, where no pod is injected`
    : undefined;
}

function mirrorPod({ pod }: Subject): string | undefined {
  return annotation(pod, MIRROR_ANNOTATION) === undefined
    ? undefined
    : 'a mirror pod only shows what a kubelet runs from a file, and cannot be changed';
}

function windows({ pod }: Subject): string | undefined {
  if (own(specField(pod, 'os'), 'name') === 'windows') return 'spec.os.name is windows';
  return own(specField(pod, 'nodeSelector'), 'kubernetes.io/os') === 'windows'
    ? 'spec.nodeSelector["kubernetes.io/os"] is windows'
    : undefined;
}

function hostNetwork({ pod }: Subject): string | undefined {
  return specField(pod, 'hostNetwork') === true
    ? 'spec.hostNetwork is true: a sidecar would take over the traffic of its node'
    : undefined;
}

/** With a sidecar for its only container, a pod that the API server refuses would become valid. */
function noContainers({ pod }: Subject): string | undefined {
  return containers(pod).length === 0 ? 'the pod has no containers' : undefined;
}

function invalidValue({ optIn, options }: Subject): string | undefined {
  if (optIn.asked !== 'invalid') return undefined;
  const value = JSON.stringify(clip(optIn.value, 32));
  return `${describe(optIn.source)} ${options.keys.optIn} is ${value}: write "true" or "false"`;
}

function optedOut({ optIn, options }: Subject): string | undefined {
  return optIn.asked === 'skip' ? `${describe(optIn.source)} ${options.keys.optIn} is "false"` : undefined;
}

function notOptedIn({ optIn, options }: Subject): string | undefined {
  return optIn.asked === 'nothing'
    ? `neither the pod nor its namespace has ${options.keys.optIn}: "true"`
    : undefined;
}

function noTemplate({ state }: Subject): string | undefined {
  return 'fault' in state ? `there is no good template: ${state.fault}` : undefined;
}

function unknownTemplate({ unknownTemplates, options }: Subject): string | undefined {
  const [name] = unknownTemplates;
  return name === undefined
    ? undefined
    : `annotation ${options.keys.templates} names ${JSON.stringify(clip(name, 32))}, and there is no such template`;
}

function alreadyInjected({ pod, options, templates }: Subject): string | undefined {
  return isInjected(pod, annotation(pod, options.keys.status), templates)
    ? 'the pod already has what the template adds'
    : undefined;
}

/** A container of that name is the user's own, unless it asks for the template's image. */
function containerExists({ pod, options, templates }: Subject): string | undefined {
  const find = containerFinder(pod);
  for (const template of templates) {
    for (const container of template.containers) {
      const name = nameOf(container);
      const existing = find(name);
      if (!existing || own(existing, 'image') === AUTO_IMAGE) continue;
      const { added } = parseStatus(annotation(pod, options.keys.status)) ?? {};
      const earlier = [...(added?.containers ?? []), ...(added?.initContainers ?? [])];
      return earlier.includes(name)
        ? `the pod has container ${name} of an earlier injection, by another state of the template`
        : `the pod has a container ${name} of its own: to lay it over the template's, set its image to ${AUTO_IMAGE}`;
    }
  }
  return undefined;
}

function describe(source: OptInSource): string {
  switch (source) {
    case 'pod-label':
      return "the pod's label";
    case 'pod-annotation':
      return "the pod's annotation";
    case 'namespace-label':
      return "the namespace's label";
    case 'all-pods':
      return 'the rule for all pods';
  }
}
