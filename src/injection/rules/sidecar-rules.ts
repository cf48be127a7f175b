import { type JsonObject, own, ownString } from '../../util/json.ts';
import { findCapture, proxyOf, userOf } from '../envoy/capture.ts';
import type { EnvoyFiles } from '../envoy/files.ts';
import { listeningPorts } from '../envoy/listening-ports.ts';
import { knownAnnotations } from '../keys.ts';
import { CEL_ALL_CONTAINERS, celAnyOf, celHas, celHasKey, celString, celStrings } from '../podspec/cel.ts';
import { placeOf, UNCLEAN_PATH } from '../podspec/mount-path.ts';
import { nameOf, SECCOMP_ANNOTATION } from '../podspec/pod.ts';
import { podSecurityOf, podSecurityViolations } from '../podspec/pod-security.ts';
import { gracePeriodViolations, longestSleep } from '../podspec/rules/grace-period.ts';
import { limitRangeViolations } from '../podspec/rules/limit-ranges.ts';
import { podResourceViolations } from '../podspec/rules/pod-resources.ts';
import type { ResultRule, Rule } from '../rule.ts';
import { celHasShape } from '../template/pod-shapes.ts';
import { ITEM_KINDS, KINDS, type Template } from '../template/template.ts';

export const invalidOverride = {
  reason: 'invalid-override',
  help: "the pod's `image: auto` container is invalid; invalid or unknown annotations are merely ignored",
  warn: true,
  // Also unknown overrides: the webhook warns of them.
  cel: ({ keys }) => {
    const isOverride = `key.startsWith(${celString(`${keys.optIn}-`)})`;
    const others = knownAnnotations(keys).filter((key) => !Object.values(keys.overrides).includes(key));
    const exists = `object.metadata.annotations.exists(key, ${isOverride} && !(key in ${celStrings(others)}))`;
    return { unless: `${celHas('metadata.annotations')} && ${exists}` };
  },
} as const satisfies Rule;

/** What the API server would refuse in a pod with its sidecar. */
export const RESULT_RULES = [
  {
    reason: 'pod-resources',
    help: "the pod's own resources are too small for the sidecar",
    warn: true,
    cel: () => ({ unless: 'has(object.spec.resources)' }),
    violations: podResourceViolations,
  },
  {
    reason: 'grace-period',
    help: "the sidecar's hooks sleep longer than the pod's grace period",
    warn: true,
    cel({ template }) {
      const seconds = longestSleep([...template.containers, ...template.initContainers]);
      const given = 'object.spec.terminationGracePeriodSeconds';
      return seconds === 0 ? undefined : { unless: `has(${given}) && ${given} < ${seconds}` };
    },
    violations: gracePeriodViolations,
  },
  {
    reason: 'pod-security',
    help: 'the namespace would refuse the pod with its sidecar',
    warn: true,
    // The matchConstraints of the policy exclude namespaces with a level or version that the template breaks.
    cel: 'elsewhere',
    violations(pod, { namespaceLabels, serverMinor }) {
      const enforced = podSecurityOf(namespaceLabels, serverMinor);
      const found = podSecurityViolations(pod, enforced);
      if (found.length === 0) return found;
      return found.map((violation) => `the namespace enforces ${enforced.level} pod security: ${violation}`);
    },
  },
  {
    reason: 'limit-range',
    help: 'a LimitRange in the namespace would refuse the pod with its sidecar',
    warn: true,
    // The matchConstraints of the policy exclude namespaces with a LimitRange that the template may break.
    cel: 'elsewhere',
    violations: (pod, { limitRanges = [] }) => limitRangeViolations(pod, limitRanges),
  },
] as const satisfies readonly ResultRule[];

export const proxyUser = {
  reason: 'proxy-user',
  help: "a container runs as Envoy's user and bypasses Envoy, or Envoy runs as another user; the pod still gets its sidecar",
  warn: true,
  cel({ template }) {
    const capture = findCapture(template.initContainers);
    if (!capture) return undefined;
    const proxy = proxyOf(template);
    const uid = proxy && userOf(proxy, {});
    const ofPod = own(template.securityContext, 'runAsUser');
    const isAlwaysOdd = (uid ?? ofPod ?? capture.uid) !== capture.uid || ofPod === capture.uid;
    if (isAlwaysOdd) return { unless: 'true' };
    const runsAs = (at: string, those: string) =>
      `has(${at}.securityContext) && has(${at}.securityContext.runAsUser)${those}`;
    const isEnvoy = (at: string) => runsAs(at, ` && ${at}.securityContext.runAsUser == ${capture.uid}`);
    // A proxy that says no user has that of the pod.
    const inPod = uid === undefined ? runsAs('object.spec', '') : isEnvoy('object.spec');
    return { unless: celAnyOf([inPod, `${CEL_ALL_CONTAINERS}.exists(c, ${isEnvoy('c')})`]) };
  },
} as const satisfies Rule;

export const conflict = {
  reason: 'conflict',
  help: 'the pod already uses a port, name or path from the template',
  warn: true,
  // An item with the template's name may be equal to the template's: the webhook checks it.
  cel({ template, envoyFiles = [] }) {
    const found = conflicts(template, envoyFiles);
    return found.length === 0 ? undefined : { unless: celAnyOf(found) };
  },
} as const satisfies Rule;

function conflicts(template: Template, envoyFiles: readonly EnvoyFiles[]): readonly string[] {
  return [
    anyPort(template, envoyFiles),
    // Pull secrets of one name are the same.
    ...ITEM_KINDS.filter((kind) => kind !== 'imagePullSecrets').map((kind) =>
      anyOf(`object.spec.${kind}`, KINDS[kind].key, template[kind]),
    ),
    inContainers(anyOf('c.env', KINDS.env.key, template.env)),
    atPlaces(template.volumeMounts),
    own(template.securityContext, 'seccompProfile') && celHasKey('annotations', SECCOMP_ANNOTATION),
    own(template.annotations, SECCOMP_ANNOTATION) &&
      'has(object.spec.securityContext) && has(object.spec.securityContext.seccompProfile)',
    ...template.incompatibleShapes.map(({ shape }) => celHasShape(shape)),
  ].filter((expression) => typeof expression === 'string');
}

/** More numbers are not compared: each pod that declares a port is left to the webhook. */
const MAX_PORTS = 1_000;

function anyPort(
  { containers, initContainers, volumes }: Template,
  envoyFiles: readonly EnvoyFiles[],
): string | undefined {
  const ports = [...containers, ...initContainers].flatMap((container) =>
    [undefined, ...envoyFiles].flatMap((files) => listeningPorts(container, volumes, files)),
  );
  const numbers = (field: string) => [
    ...new Set(ports.map((port) => own(port, field)).filter((n) => typeof n === 'number' && n !== 0)),
  ];
  const [container, host] = [numbers('containerPort'), numbers('hostPort')];
  if (container.length === 0) return undefined;
  if (container.length > MAX_PORTS) return `${CEL_ALL_CONTAINERS}.exists(c, has(c.ports))`;
  const onHost = host.length === 0 ? '' : ` || (has(p.hostPort) && p.hostPort in [${host.join(', ')}])`;
  const names = [...new Set(ports.map(nameOf))].filter((name) => name !== '');
  const byName = names.length === 0 ? '' : ` || (has(p.name) && p.name in ${celStrings(names)})`;
  const taken = `p.containerPort in [${container.join(', ')}]${onHost}${byName}`;
  return `${CEL_ALL_CONTAINERS}.exists(c, has(c.ports) && c.ports.exists(p, ${taken}))`;
}

function anyOf(list: string, field: string, items: readonly JsonObject[]): string | undefined {
  const values = items.map((each) => own(each, field)).filter((value) => typeof value === 'string');
  if (values.length === 0) return undefined;
  return `has(${list}) && ${list}.exists(i, i.${field} in ${celStrings(values)})`;
}

/** A path that is not clean may name the place of a mount, and devices share the places of mounts. */
function atPlaces(mounts: readonly JsonObject[]): string | undefined {
  if (mounts.length === 0) return undefined;
  const places = celStrings(mounts.map((mount) => placeOf(ownString(mount, 'mountPath') ?? '')));
  const found = `m.mountPath in ${places} || m.mountPath.matches(${celString(UNCLEAN_PATH)})`;
  return inContainers(`has(c.volumeDevices) || has(c.volumeMounts) && c.volumeMounts.exists(m, ${found})`);
}

function inContainers(found: string | undefined): string | undefined {
  return found && `object.spec.containers.exists(c, ${found})`;
}
