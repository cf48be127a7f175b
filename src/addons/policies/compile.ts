import { ENVOY_FILES, type EnvoyFiles } from '../../injection/envoy/files.ts';
import type { Keys } from '../../injection/keys.ts';
import { celHasKey, celSaysTrue } from '../../injection/podspec/cel.ts';
import { ENFORCE_LABEL, ENFORCE_VERSION_LABEL } from '../../injection/podspec/pod-security.ts';
import type { LimitRange } from '../../injection/podspec/rules/limit-ranges.ts';
import type { Audience, PolicySubject } from '../../injection/rule.ts';
import { RULES } from '../../injection/rules/index.ts';
import { SYSTEM_NAMESPACES } from '../../injection/rules/pod-rules.ts';
import type { CanaryScope } from '../../injection/template/strategy.ts';
import type { Template } from '../../injection/template/template.ts';
import { DEFAULT_TEMPLATE_NAME, type TemplateSet } from '../../injection/template/template-set.ts';
import { OWN_LABELS } from '../../util/identity.ts';
import type { JsonObject } from '../../util/json.ts';
import { UnsupportedInCel } from './literal.ts';
import { compileMutation, type Mutation } from './mutation.ts';
import { type BrokenNamespaces, brokenNamespaces } from './namespaces.ts';

export interface CompileOptions {
  readonly keys: Keys;
  /** If false, pods with no opt-in or opt-out are injected too. */
  readonly requireAnnotation: boolean;
  readonly operatorNamespace: string;
  /** The name of the policy for pods that opt in themselves, and of their webhook. Other policies prefix it. */
  readonly name: string;
  /**
   * Whether there is no webhook behind the policies. Then the API server rejects a pod that opts in itself if the policy
   * fails on it. The client that creates a pod without its sidecar gets a warning.
   */
  readonly alone: boolean;
  /** The pods that get other templates. They are left to the webhook. */
  readonly canary?: CanaryScope | undefined;
  /** The minor version of the API server that runs the policies; undefined: the newest. */
  readonly serverMinor?: number | undefined;
  /** What sidecars may read; undefined: what comes with the operator. */
  readonly envoyFiles?: readonly EnvoyFiles[] | undefined;
  /** The LimitRanges of each namespace that has any. */
  readonly limitRanges?: ReadonlyMap<string, readonly LimitRange[]> | undefined;
}

/** The policies for the API server. */
export interface Compiled {
  /** Policies, each followed by its bindings. */
  readonly objects: readonly PolicyObject[];
  /** What only the webhook can do: one sentence each, without a full stop. */
  readonly left: readonly string[];
}

/** A policy or a binding. */
export interface PolicyObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: `${'Mutating' | 'Validating'}AdmissionPolicy${'' | 'Binding'}`;
  readonly metadata: JsonObject & { readonly name: string };
  readonly spec: JsonObject;
}

const API_VERSION = 'admissionregistration.k8s.io/v1';
/** Code points that cel-go accepts in one expression (ExpressionSizeCodePointLimit). */
const MAX_EXPRESSION = 100_000;

/**
 * Compiles the default template into two policies, one for each webhook. They inject simple pods as the webhook does. All
 * other pods stay unchanged and reach the webhook.
 */
export function compilePolicies(set: TemplateSet, options: CompileOptions): Compiled {
  const only = options.alone ? 'no policy' : 'only the webhook';
  const left = [...set.templates.keys()]
    .filter((name) => name !== DEFAULT_TEMPLATE_NAME)
    .map(
      (name) => `template "${name}": ${only} injects it, because pods and namespaces select it by annotation`,
    );
  const template = set.templates.get(DEFAULT_TEMPLATE_NAME);
  if (!template) return { objects: [], left };
  try {
    const mutation = compileMutation(template, set.options, options.keys, options.canary);
    const broken = brokenNamespaces(template, set, options.serverMinor, options.limitRanges);
    const objects = [
      ...policyFor('pod', mutation, template, broken, options),
      ...policyFor('namespace', mutation, template, broken, options),
      ...(options.alone ? unseenFor(set, options) : []),
    ];
    const standards = [
      ...broken.levels.map((level) => `${level} pod security`),
      ...(broken.versions.length > 0 ? [`pod security ${rangesOf(broken.versions)}`] : []),
    ].map((standard) => `template "config": ${only} injects pods in namespaces that enforce ${standard}`);
    return { objects, left: [...standards, ...left] };
  } catch (error) {
    if (!(error instanceof UnsupportedInCel)) throw error;
    return { objects: [], left: [`template "config": ${only} injects it: ${error.message}`, ...left] };
  }
}

function policyFor(
  audience: Audience,
  { variables, expression }: Mutation,
  template: Template,
  broken: BrokenNamespaces,
  options: CompileOptions,
): readonly PolicyObject[] {
  const name = audience === 'pod' ? options.name : `namespace.${options.name}`;
  const conditions = matchConditions({
    audience,
    keys: options.keys,
    template,
    envoyFiles: options.envoyFiles ?? [ENVOY_FILES],
  });
  for (const text of [expression, ...[...variables, ...conditions].map((each) => each.expression)]) {
    if ([...text].length > MAX_EXPRESSION) throw new UnsupportedInCel('it is too long for a policy');
  }
  const policy = object('MutatingAdmissionPolicy', name, {
    failurePolicy: audience === 'pod' && options.alone ? 'Fail' : 'Ignore',
    // Our webhook handles what other webhooks add later.
    reinvocationPolicy: 'Never',
    matchConstraints: matchConstraints(broken, options),
    matchConditions: conditions.map((condition) => ({ ...condition })),
    variables: variables.map((variable) => ({ ...variable })),
    mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
  });
  return [policy, ...bindingsFor(audience, name, options)];
}

/**
 * A ValidatingAdmissionPolicy and its binding, for clusters without the webhook. A pod that opts in but gets no sidecar
 * causes a warning, or is rejected if `onConflict` is `deny`.
 */
function unseenFor(
  { options: { onConflict } }: TemplateSet,
  options: CompileOptions,
): readonly PolicyObject[] {
  const { name, keys } = options;
  const message =
    'no sidecar: without a webhook, policies inject only Linux pods without hostNetwork, overrides or names that the template uses, in namespaces that select no template';
  return [
    object('ValidatingAdmissionPolicy', name, {
      failurePolicy: 'Ignore',
      matchConstraints: matchConstraints({ levels: [], versions: [], namespaces: [] }, options),
      matchConditions: [{ name: 'not-opted-in', expression: celSaysTrue(keys.optIn) }],
      validations: [{ expression: celHasKey('annotations', keys.status), message }],
    }),
    object('ValidatingAdmissionPolicyBinding', name, {
      policyName: name,
      validationActions: [onConflict === 'deny' ? 'Deny' : 'Warn'],
    }),
  ];
}

/** The conditions for a policy to inject a pod, by the reasons to skip it, in the order of the rules. Others are left to the webhook. */
function matchConditions(
  subject: PolicySubject,
): readonly { readonly name: string; readonly expression: string }[] {
  return RULES.flatMap(({ reason: name, cel }) => {
    const condition = cel === 'elsewhere' ? undefined : cel(subject);
    if (!condition) return [];
    return [{ name, expression: 'only' in condition ? condition.only : `!(${condition.unless})` }];
  });
}

function matchConstraints(
  { levels, versions, namespaces }: BrokenNamespaces,
  options: CompileOptions,
): JsonObject {
  const creations = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] };
  const never = [...SYSTEM_NAMESPACES, options.operatorNamespace, ...namespaces].filter(
    (name) => name !== '',
  );
  const matchExpressions = [
    { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: never },
    { key: ENFORCE_LABEL, operator: 'NotIn', values: levels },
    { key: ENFORCE_VERSION_LABEL, operator: 'NotIn', values: versions.map((minor) => `v1.${minor}`) },
  ].filter(({ values }) => values.length > 0);
  return { resourceRules: [{ ...creations, scope: 'Namespaced' }], namespaceSelector: { matchExpressions } };
}

/** Such as `v1.0 to v1.31`. */
function rangesOf(minors: readonly number[]): string {
  const starts = minors.filter((minor) => !minors.includes(minor - 1));
  const ends = minors.filter((minor) => !minors.includes(minor + 1));
  return starts
    .map((start, i) => (start === ends[i] ? `v1.${start}` : `v1.${start} to v1.${ends[i]}`))
    .join(', ');
}

/** Bindings for opted-in namespaces and, if all pods are injected, for namespaces without the label. */
function bindingsFor(
  audience: Audience,
  policyName: string,
  options: CompileOptions,
): readonly PolicyObject[] {
  if (audience === 'pod') return [binding(policyName, policyName)];
  const key = options.keys.optIn;
  const optedIn = binding(policyName, policyName, { key, operator: 'In', values: ['true'] });
  if (options.requireAnnotation) return [optedIn];
  return [optedIn, binding(`all.${options.name}`, policyName, { key, operator: 'DoesNotExist' })];
}

function binding(name: string, policyName: string, namespaces?: JsonObject): PolicyObject {
  const matchResources = namespaces && { namespaceSelector: { matchExpressions: [namespaces] } };
  return object('MutatingAdmissionPolicyBinding', name, {
    policyName,
    ...(matchResources && { matchResources }),
  });
}

function object(kind: PolicyObject['kind'], name: string, spec: JsonObject): PolicyObject {
  return { apiVersion: API_VERSION, kind, metadata: { name, labels: OWN_LABELS }, spec };
}
