import type { JsonObject } from '../json/json.ts';
import { OWN_LABELS } from '../json/own-names.ts';
import { ENFORCE_LABEL } from '../podspec/pod-security/pod-security.ts';
import type { Keys } from '../sidecar/keys.ts';
import type { Audience } from '../sidecar/rule.ts';
import { SYSTEM_NAMESPACES } from '../sidecar/rules/system-namespace.ts';
import type { CanaryScope } from '../sidecar/template/strategy.ts';
import type { Template } from '../sidecar/template/template.ts';
import { DEFAULT_TEMPLATE, type TemplateSet } from '../sidecar/template/template-set.ts';
import { matchConditions } from './conditions.ts';
import { UnsupportedInCel } from './literal.ts';
import { compileMutation, type Mutation } from './mutation.ts';
import { brokenLevels } from './pod-security.ts';
import { unseenPolicy } from './unseen.ts';

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
  const others = options.alone ? 'no policy injects it' : 'only the webhook injects it';
  const left = [...set.templates.keys()]
    .filter((name) => name !== DEFAULT_TEMPLATE)
    .map((name) => `template "${name}": ${others}, because pods and namespaces select it by annotation`);
  const template = set.templates.get(DEFAULT_TEMPLATE);
  if (!template) return { objects: [], left };
  try {
    const mutation = compileMutation(template, set.options, options.keys, options.canary);
    const broken = brokenLevels(template, set);
    const objects = [
      ...policyFor('pod', mutation, template, broken, options),
      ...policyFor('namespace', mutation, template, broken, options),
      ...(options.alone ? unseenFor(set, options) : []),
    ];
    const levels = broken.map((level) =>
      options.alone
        ? `template "config": no policy injects pods in namespaces that enforce ${level} pod security`
        : `template "config": the policy leaves pods in namespaces that enforce ${level} pod security to the webhook`,
    );
    return { objects, left: [...levels, ...left] };
  } catch (error) {
    if (!(error instanceof UnsupportedInCel)) throw error;
    return {
      objects: [],
      left: [`template "config": ${others}: ${error.message}`, ...left],
    };
  }
}

function policyFor(
  audience: Audience,
  { variables, expression }: Mutation,
  template: Template,
  broken: readonly string[],
  options: CompileOptions,
): readonly PolicyObject[] {
  const name = audience === 'pod' ? options.name : `namespace.${options.name}`;
  const conditions = matchConditions({ audience, keys: options.keys, template });
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

function unseenFor(set: TemplateSet, options: CompileOptions): readonly PolicyObject[] {
  const { policy, binding: actions } = unseenPolicy(options.keys, set.options, matchConstraints([], options));
  const { name } = options;
  return [
    object('ValidatingAdmissionPolicy', name, policy),
    object('ValidatingAdmissionPolicyBinding', name, { policyName: name, ...actions }),
  ];
}

function matchConstraints(broken: readonly string[], options: CompileOptions): JsonObject {
  const creations = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] };
  return {
    resourceRules: [{ ...creations, scope: 'Namespaced' }],
    namespaceSelector: { matchExpressions: namespaceExpressions(broken, options) },
  };
}

function namespaceExpressions(
  broken: readonly string[],
  { operatorNamespace }: CompileOptions,
): JsonObject[] {
  const never = [...SYSTEM_NAMESPACES, ...(operatorNamespace === '' ? [] : [operatorNamespace])];
  return [
    { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: never },
    ...(broken.length > 0 ? [{ key: ENFORCE_LABEL, operator: 'NotIn', values: broken }] : []),
  ];
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
