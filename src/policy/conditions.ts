import { AUTO_IMAGE } from '../inject/container-rules.ts';
import { MIRROR_ANNOTATION } from '../inject/decision-table.ts';
import { longestSleep } from '../inject/grace-period.ts';
import { type JsonObject, own, ownObjects } from '../inject/json.ts';
import type { Keys } from '../inject/keys.ts';
import { nameOf } from '../inject/pod.ts';
import { SKIP_REASONS, type SkipReason } from '../inject/reason.ts';
import type { Template } from '../inject/template.ts';
import { celHas, celString, celStrings } from './cel.ts';

/** Which pods a policy is for: those that opt in themselves, or those that say nothing where their namespace does. */
export type Audience = 'pod' | 'namespace';

interface Subject {
  readonly audience: Audience;
  readonly keys: Keys;
  readonly template: Template;
}

/** A condition that a pod must meet, by the name under which the policy has it. */
export interface MatchCondition {
  readonly name: SkipReason;
  readonly expression: string;
}

/** What a condition is made of: what it passes over, or what it looks for. */
type Rule = { readonly unless: string } | { readonly only: string } | 'elsewhere';

/**
 * For every reason to leave a pod as it is, what finds it, or no more than what it might be: such a pod is left to the
 * webhook, which knows. A reason that is added to `inject` does not compile without its line here.
 */
const RULES: Readonly<Record<SkipReason, (subject: Subject) => Rule>> = {
  // By the policy's matchConstraints.
  'not-a-pod-create': () => 'elsewhere',
  'system-namespace': () => 'elsewhere',
  'operator-namespace': () => 'elsewhere',
  'pod-security': () => 'elsewhere',
  // There is no policy without a template.
  'no-template': () => 'elsewhere',
  // All that the pod says is one condition; what its namespace says is a binding's.
  'invalid-value': () => 'elsewhere',
  'opted-out': () => 'elsewhere',
  'not-opted-in': ({ audience, keys }) =>
    audience === 'pod' ? { only: asks(keys.optIn) } : { unless: says(keys.optIn) },
  'mirror-pod': () => ({ unless: annotated([MIRROR_ANNOTATION]) }),
  windows: () => ({
    unless: alternatives(
      'has(object.spec.os) && object.spec.os.name == "windows"',
      'has(object.spec.nodeSelector) && "kubernetes.io/os" in object.spec.nodeSelector && ' +
        'object.spec.nodeSelector["kubernetes.io/os"] == "windows"',
    ),
  }),
  'host-network': () => ({ unless: 'has(object.spec.hostNetwork) && object.spec.hostNetwork' }),
  'no-containers': () => ({ only: 'has(object.spec.containers) && size(object.spec.containers) > 0' }),
  'unknown-template': ({ keys }) => ({ unless: annotated([keys.templates]) }),
  // The status may be another template's, or only copied along.
  'already-injected': ({ keys }) => ({ unless: annotated([keys.status]) }),
  'container-exists': ({ template }) => ({ unless: existing(template) }),
  'invalid-override': ({ keys }) => ({ unless: annotated(Object.values(keys.overrides)) }),
  conflict: ({ template }) => {
    const found = conflicts(template);
    return found.length === 0 ? 'elsewhere' : { unless: alternatives(...found) };
  },
  'pod-resources': () => ({ unless: 'has(object.spec.resources)' }),
  'grace-period': ({ template }) => {
    const seconds = longestSleep([...template.containers, ...template.initContainers]);
    const given = 'object.spec.terminationGracePeriodSeconds';
    return seconds === 0 ? 'elsewhere' : { unless: `has(${given}) && ${given} < ${seconds}` };
  },
};

/** What a pod must be for a policy to inject it, in the order of the decision table. */
export function matchConditions(subject: Subject): readonly MatchCondition[] {
  return SKIP_REASONS.flatMap((name) => {
    const rule = RULES[name](subject);
    if (rule === 'elsewhere') return [];
    return [{ name, expression: 'only' in rule ? rule.only : `!(${rule.unless})` }];
  });
}

/** Label before annotation, as `resolveOptIn` has it. */
export function asks(key: string): string {
  const [label, annotation] = [member('labels', key), member('annotations', key)];
  return `${has('labels', key)} ? ${label} == "true" : ${has('annotations', key)} && ${annotation} == "true"`;
}

/** Whether the pod has the annotation, whatever its value. */
export function hasAnnotation(key: string): string {
  return has('annotations', key);
}

function says(key: string): string {
  return alternatives(has('labels', key), has('annotations', key));
}

function has(map: 'labels' | 'annotations', key: string): string {
  return `${celHas(`metadata.${map}`)} && ${celString(key)} in object.metadata.${map}`;
}

function member(map: 'labels' | 'annotations', key: string): string {
  return `object.metadata.${map}[${celString(key)}]`;
}

/** Whether the pod has any of these annotations. */
function annotated(keys: readonly string[]): string {
  const [key, ...others] = keys;
  if (key !== undefined && others.length === 0) return has('annotations', key);
  return `${celHas('metadata.annotations')} && ${celStrings(keys)}.exists(key, key in object.metadata.annotations)`;
}

const ALL_CONTAINERS =
  '(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))';

/** A container of the template's name; or of the image that asks for the template's, whatever its name. */
function existing({ containers, initContainers }: Template): string {
  const names = [...containers, ...initContainers].map(nameOf);
  const auto = `has(c.image) && c.image == ${celString(AUTO_IMAGE)}`;
  const found = names.length === 0 ? auto : `c.name in ${celStrings(names)} || ${auto}`;
  return `${ALL_CONTAINERS}.exists(c, ${found})`;
}

/** What shares a name with the template's may be the same thing, or no conflict at all: the webhook looks closer. */
function conflicts(template: Template): readonly string[] {
  return [
    anyPort([...template.containers, ...template.initContainers]),
    anyOf('object.spec.volumes', 'v', 'name', template.volumes),
    anyOf('object.spec.hostAliases', 'a', 'ip', template.hostAliases),
    inContainers('env', 'e', 'name', template.env),
    inContainers('volumeMounts', 'm', 'mountPath', template.volumeMounts),
  ].filter((expression) => expression !== undefined);
}

function anyPort(containers: readonly JsonObject[]): string | undefined {
  const ports = containers.flatMap((container) => ownObjects(container, 'ports'));
  const numbers = (field: string) => [
    ...new Set(ports.map((port) => own(port, field)).filter((n) => typeof n === 'number' && n !== 0)),
  ];
  const [container, host] = [numbers('containerPort'), numbers('hostPort')];
  if (container.length === 0) return undefined;
  const onHost = host.length === 0 ? '' : ` || (has(p.hostPort) && p.hostPort in [${host.join(', ')}])`;
  const taken = `p.containerPort in [${container.join(', ')}]${onHost}`;
  return `${ALL_CONTAINERS}.exists(c, has(c.ports) && c.ports.exists(p, ${taken}))`;
}

function anyOf(list: string, item: string, field: string, items: readonly JsonObject[]): string | undefined {
  const values = items.map((each) => own(each, field)).filter((value) => typeof value === 'string');
  if (values.length === 0) return undefined;
  return `has(${list}) && ${list}.exists(${item}, ${item}.${field} in ${celStrings(values)})`;
}

function inContainers(
  list: string,
  item: string,
  field: string,
  items: readonly JsonObject[],
): string | undefined {
  const found = anyOf(`c.${list}`, item, field, items);
  return found === undefined ? undefined : `object.spec.containers.exists(c, ${found})`;
}

function alternatives(...expressions: readonly string[]): string {
  return expressions.map((expression) => `(${expression})`).join(' ||\n');
}
