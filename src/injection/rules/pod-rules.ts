import { quoteText } from '../../util/clip.ts';
import { own } from '../../util/json.ts';
import { SOURCES } from '../opt-in.ts';
import { isPodCreation } from '../podspec/admission-target.ts';
import {
  CEL_ALL_CONTAINERS,
  celAnyOf,
  celHasKey,
  celSaysTrue,
  celString,
  celStrings,
} from '../podspec/cel.ts';
import {
  AUTO_IMAGE,
  annotation,
  containerFinder,
  containers,
  MIRROR_ANNOTATION,
  nameOf,
  specField,
} from '../podspec/pod.ts';
import type { DecisionInput, PodRule } from '../rule.ts';
import { addedContainers, hasContainers, isCurrent, parseStatus } from '../status.ts';

/** Namespaces of the cluster: a sidecar there can break the whole cluster. */
export const SYSTEM_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease'];

export const unknownTemplate = {
  reason: 'unknown-template',
  help: 'the pod or its namespace names a template that does not exist',
  warn: true,
  // Conditions do not see the annotations of the namespace: the mutation looks at them.
  cel: ({ keys }) => ({ unless: celHasKey('annotations', keys.templates) }),
  find({
    unknownTemplates: [name],
    selectedBy,
    options,
  }: Pick<DecisionInput, 'unknownTemplates' | 'selectedBy' | 'options'>) {
    return name === undefined
      ? undefined
      : `the ${selectedBy}'s annotation ${options.keys.templates} names template ${quoteText(name, 32)}, which does not exist: use another, or add it to the ConfigMap`;
  },
} as const satisfies PodRule;

/** The rules that check the pod and its namespace before the merge. */
export const POD_RULES = [
  {
    reason: 'not-a-pod-create',
    help: 'the request does not create a pod',
    warn: false,
    // The matchConstraints of the policy check this.
    cel: 'elsewhere',
    find({ request }) {
      if (isPodCreation(request)) return undefined;
      const { resource } = request.resource;
      const name = request.subResource ? `${resource}/${request.subResource}` : resource;
      return `only new pods are injected, but this request is for ${request.operation} of ${name}`;
    },
  },
  {
    reason: 'system-namespace',
    help: 'the pod is in `kube-system`, `kube-public` or `kube-node-lease`',
    warn: 'asked',
    // The matchConstraints of the policy check this.
    cel: 'elsewhere',
    find: ({ request: { namespace } }) =>
      SYSTEM_NAMESPACES.includes(namespace)
        ? `${namespace} is a system namespace, where pods are not injected: use another namespace`
        : undefined,
  },
  {
    reason: 'operator-namespace',
    help: "the pod is in the operator's namespace",
    warn: 'asked',
    // The matchConstraints of the policy check this.
    cel: 'elsewhere',
    find: ({ request: { namespace }, options }) =>
      namespace === options.operatorNamespace
        ? `${namespace} is the operator's namespace, where pods are not injected: use another namespace`
        : undefined,
  },
  {
    reason: 'mirror-pod',
    help: 'the kubelet runs the pod from a file',
    warn: false,
    cel: () => ({ unless: celHasKey('annotations', MIRROR_ANNOTATION) }),
    find: ({ pod }) =>
      annotation(pod, MIRROR_ANNOTATION) === undefined
        ? undefined
        : 'a mirror pod only reflects a file on its node: run envoy-initializer inject on that file',
  },
  {
    reason: 'windows',
    help: 'the pod is for Windows nodes',
    warn: 'asked',
    cel: () => ({
      unless: celAnyOf([
        'has(object.spec.os) && object.spec.os.name == "windows"',
        'has(object.spec.nodeSelector) && "kubernetes.io/os" in object.spec.nodeSelector && ' +
          'object.spec.nodeSelector["kubernetes.io/os"] == "windows"',
      ]),
    }),
    find({ pod }) {
      if (own(specField(pod, 'os'), 'name') === 'windows')
        return 'spec.os.name is windows, but the sidecar needs Linux: remove the opt-in';
      return own(specField(pod, 'nodeSelector'), 'kubernetes.io/os') === 'windows'
        ? 'spec.nodeSelector["kubernetes.io/os"] is windows, but the sidecar needs Linux: remove the opt-in'
        : undefined;
    },
  },
  {
    reason: 'host-network',
    help: "the pod uses the node's network",
    warn: 'asked',
    cel: () => ({ unless: 'has(object.spec.hostNetwork) && object.spec.hostNetwork' }),
    find: ({ pod }) =>
      specField(pod, 'hostNetwork') === true
        ? 'spec.hostNetwork is true, and a sidecar would take over the traffic of the node: remove hostNetwork or the opt-in'
        : undefined,
  },
  // The API server rejects such a pod. A sidecar would make it valid.
  {
    reason: 'no-containers',
    help: 'the pod has no containers',
    warn: false,
    cel: () => ({ only: 'has(object.spec.containers) && size(object.spec.containers) > 0' }),
    find: ({ pod }) => (containers(pod).length === 0 ? 'the pod has no containers' : undefined),
  },
  {
    reason: 'invalid-value',
    help: 'the opt-in is neither `"true"` nor `"false"`',
    warn: true,
    // The condition of not-opted-in covers all values of the pod, and the binding covers the namespace.
    cel: 'elsewhere',
    find({ optIn, options }) {
      if (optIn.asked !== 'invalid') return undefined;
      const value = quoteText(optIn.value, 32);
      return `${SOURCES[optIn.source]} ${options.keys.optIn} is ${value}: write "true" or "false"`;
    },
  },
  {
    reason: 'opted-out',
    help: 'the pod or its namespace opts out with `"false"`',
    warn: false,
    // The condition of not-opted-in covers all values of the pod, and the binding covers the namespace.
    cel: 'elsewhere',
    find: ({ optIn, options }) =>
      optIn.asked === 'skip' ? `${SOURCES[optIn.source]} ${options.keys.optIn} is "false"` : undefined,
  },
  {
    reason: 'not-opted-in',
    help: 'neither the pod nor its namespace opts in',
    warn: false,
    cel: ({ audience, keys: { optIn } }) =>
      audience === 'pod'
        ? { only: celSaysTrue(optIn) }
        : { unless: celAnyOf([celHasKey('labels', optIn), celHasKey('annotations', optIn)]) },
    find: ({ optIn, options }) =>
      optIn.asked === 'nothing'
        ? `neither the pod nor its namespace has ${options.keys.optIn}: "true"`
        : undefined,
  },
  {
    reason: 'no-template',
    help: 'the operator has no valid template',
    warn: true,
    // Without a template there is no policy.
    cel: 'elsewhere',
    find: ({ state }) =>
      'fault' in state ? `the operator has no valid template: ${state.fault}` : undefined,
  },
  unknownTemplate,
  {
    reason: 'already-injected',
    help: 'the pod already has the sidecar',
    warn: false,
    // The status may belong to another template, or be a copy: the webhook checks it.
    cel: ({ keys }) => ({ unless: celHasKey('annotations', keys.status) }),
    find({ pod, options, templates }) {
      const status = parseStatus(annotation(pod, options.keys.status));
      return status && isCurrent(status, templates) && hasContainers(pod, templates)
        ? 'the pod already has what the template adds'
        : undefined;
    },
  },
  // A container with the template's name belongs to the user, unless its image is `auto`.
  {
    reason: 'container-exists',
    help: 'the pod and the template have containers of the same name',
    warn: true,
    cel({ template: { containers, initContainers } }) {
      const names = [...containers, ...initContainers].map(nameOf);
      const auto = `has(c.image) && c.image == ${celString(AUTO_IMAGE)}`;
      const found = names.length === 0 ? auto : `c.name in ${celStrings(names)} || ${auto}`;
      return { unless: `${CEL_ALL_CONTAINERS}.exists(c, ${found})` };
    },
    find({ pod, options, templates }) {
      const find = containerFinder(pod);
      for (const template of templates) {
        for (const container of template.containers) {
          const name = nameOf(container);
          const existing = find(name)?.container;
          if (!existing || own(existing, 'image') === AUTO_IMAGE) continue;
          const earlier = parseStatus(annotation(pod, options.keys.status));
          return earlier && addedContainers(earlier).includes(name)
            ? `the pod has container ${name} from an earlier injection with another version of the template: recreate the pod from its workload, or remove the container and the status annotation`
            : `the pod has its own container ${name}: to override the template's container, set its image to ${AUTO_IMAGE}`;
        }
      }
      return undefined;
    },
  },
] as const satisfies readonly PodRule[];
