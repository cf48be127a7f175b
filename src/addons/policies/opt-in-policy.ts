import { excludedPorts } from '../../injection/keys.ts';
import { annotatedNamespace, ISTIO_CONTAINER, notPorts, PORT_LIST } from '../../injection/mistakes.ts';
import { celString, celStrings } from '../../injection/podspec/cel.ts';
import { AUTO_IMAGE } from '../../injection/podspec/pod.ts';
import { CUSTOM_KINDS, WORKLOAD_KINDS } from '../../injection/podspec/workload-kinds.ts';
import { OWN_LABELS } from '../../util/identity.ts';
import type { JsonObject } from '../../util/json.ts';
import type { PolicyObject } from './compile.ts';
import { MATCH_DEFAULTS } from './live-spec.ts';

/** What the policy looks at: a kind, with the paths of its pods or pod templates; an empty path is the object itself. */
interface LookedAt {
  readonly kind: string;
  readonly group: string;
  readonly versions: '*' | 'v1';
  readonly plural: string;
  readonly paths: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE')[];
  readonly scope: 'Cluster' | 'Namespaced';
}

const CHANGES = { operations: ['CREATE', 'UPDATE'], scope: 'Namespaced' } as const;

const KINDS: readonly LookedAt[] = [
  ...WORKLOAD_KINDS.flatMap(({ kind, group, plural, path, isApplied }) =>
    isApplied && plural !== undefined
      ? [{ kind, group, plural, versions: 'v1' as const, paths: [path.join('.')], ...CHANGES }]
      : [],
  ),
  { kind: 'Pod', group: '', plural: 'pods', versions: 'v1', paths: [''], ...CHANGES, operations: ['CREATE'] },
  {
    kind: 'Namespace',
    group: '',
    plural: 'namespaces',
    versions: 'v1',
    paths: [''],
    ...CHANGES,
    scope: 'Cluster',
  },
  ...CUSTOM_KINDS.map((each) => ({ ...each, versions: '*' as const, ...CHANGES })),
];

/** The longest value in a message. */
const MAX_VALUE = 32;

/**
 * A ValidatingAdmissionPolicy and its binding that warn users of opt-ins without effect: on a workload instead of its
 * pods, in the annotations of a Namespace, or with a value other than `true` and `false`. `warnsPods`: whether it also
 * warns of such pods in namespaces that opt in, where the webhook does so. `networkKey`: the annotation with which pods
 * ask for Networks, of which it warns on a workload or in labels.
 */
export function optInPolicy(
  name: string,
  {
    key,
    warnsPods,
    networkKey,
  }: { readonly key: string; readonly warnsPods: boolean; readonly networkKey?: string },
): readonly PolicyObject[] {
  const quoted = celString(key);
  const networks = networkKey === undefined ? undefined : networkChecks(networkKey);
  const spec = {
    failurePolicy: 'Ignore',
    // With all defaults: this field is atomic, so a second manager that left them out would conflict with the first.
    matchConstraints: { ...MATCH_DEFAULTS, resourceRules: resourceRules() },
    // Users do not see the warnings of controllers.
    matchConditions: [
      {
        name: 'by-a-user',
        expression:
          'request.userInfo.username != "system:kube-controller-manager" && !request.userInfo.username.startsWith("system:serviceaccount:kube-system:")',
      },
    ],
    variables: [
      { name: 'place', expression: place(quoted) },
      { name: 'pods', expression: podsExpression() },
      {
        name: 'podSaysSo',
        expression: `variables.pods.exists(pod, ${podHas('labels', quoted)} || ${podHas('annotations', quoted)})`,
      },
      { name: 'wrong', expression: wrongValues(quoted) },
      { name: 'unseen', expression: unseenExpression() },
      { name: 'auto', expression: autoExpression() },
      ...(networks?.variables ?? []),
    ],
    validations: [
      {
        expression: 'variables.place == "" || variables.podSaysSo',
        messageExpression: `${celString(`${key} is in the `)} + variables.place + " of the " + request.kind.kind + " itself, which its pods never see: move it to the metadata of its pod template"`,
      },
      {
        expression: `size(variables.wrong) == 0${warnsPods ? '' : ` ||\n${webhookWarns(quoted)}`}`,
        messageExpression: wrongMessage(key),
      },
      {
        expression: 'request.kind.kind != "Namespace" || variables.place != "annotations"',
        messageExpression: celString(annotatedNamespace(key)),
      },
      {
        expression: `variables.podSaysSo || !variables.unseen.exists(pod, ${podHas('labels', quoted)} || ${podHas('annotations', quoted)})`,
        messageExpression: `${celString(`${key} is in the metadata of a template inside the `)} + request.kind.kind + ", which its pods never see: move it to the metadata of its pod template"`,
      },
      {
        expression: `size(variables.auto) == 0 || ${saysTrue(quoted)}`,
        messageExpression: `"container " + variables.auto[0] + ${celString(` has the image ${AUTO_IMAGE}, but neither its pod nor the namespace has ${key}: "true": without a sidecar it cannot start`)}`,
      },
      ...excludedPorts({ optIn: key }).map((name) => ({
        expression: `variables.pods.all(pod, !(${podHas('annotations', celString(name))}) || pod.metadata.annotations[${celString(name)}].matches(${celString(PORT_LIST)}))`,
        messageExpression: celString(`annotation ${name} has a value that is no port: ${notPorts}`),
      })),
      ...(networks?.validations ?? []),
    ],
  };
  const labels = OWN_LABELS;
  const apiVersion = 'admissionregistration.k8s.io/v1';
  return [
    { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata: { name, labels }, spec },
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name, labels },
      spec: { policyName: name, validationActions: ['Warn'] },
    },
  ];
}

/** The same words as those of networkMistakes, for `check`. */
function networkChecks(key: string) {
  const quoted = celString(key);
  return {
    variables: [
      { name: 'networkPlace', expression: place(quoted) },
      { name: 'attaches', expression: `variables.pods.exists(pod, ${podHas('annotations', quoted)})` },
      { name: 'networkLabel', expression: `variables.pods.exists(pod, ${podHas('labels', quoted)})` },
    ],
    validations: [
      {
        expression:
          'request.kind.kind in ["Pod", "Namespace"] || variables.networkPlace == "" || variables.attaches || variables.networkLabel',
        messageExpression: `${celString(`${key} is in the `)} + variables.networkPlace + " of the " + request.kind.kind + " itself, which its pods never see: move it to the annotations of its pod template"`,
      },
      {
        expression: 'request.kind.kind == "Namespace" || !variables.networkLabel || variables.attaches',
        messageExpression: celString(
          `${key} is in the labels of the pod, where it has no effect: write it into its annotations`,
        ),
      },
    ],
  };
}

function resourceRules(): JsonObject[] {
  const sameRule = (a: LookedAt, b: LookedAt) =>
    a.group === b.group && a.scope === b.scope && a.operations.join() === b.operations.join();
  const first = KINDS.filter((kind, i) => KINDS.findIndex((other) => sameRule(kind, other)) === i);
  return first.map((one) => ({
    apiGroups: [one.group],
    apiVersions: [one.versions],
    operations: [...one.operations],
    resources: KINDS.filter((kind) => sameRule(kind, one)).map(({ plural }) => plural),
    scope: one.scope,
  }));
}

/** Where the key is on the object itself: `labels`, `annotations` or neither. */
function place(key: string): string {
  const has = (map: string) => `has(object.metadata.${map}) && ${key} in object.metadata.${map}`;
  return `${has('labels')} ? "labels" :\n${has('annotations')} ? "annotations" : ""`;
}

/** A list of the pods or pod templates of an object, by its kind. Most kinds have one in `spec.template`. */
function podsExpression(): string {
  const usual = podsAt('spec.template');
  const cases = KINDS.flatMap(({ kind, group, paths }) => {
    const pods = paths.map(podsAt).join(' + ');
    return pods === usual ? [] : [`${isKind(group, kind)} ?\n${pods}`];
  });
  return [...cases, usual].join(' :\n');
}

function isKind(group: string, kind: string): string {
  return `request.kind.group == ${celString(group)} && request.kind.kind == ${celString(kind)}`;
}

/** The templates inside an object that hold no pod: those around its pod templates, and those of claims. */
function unseenExpression(): string {
  const cases = KINDS.flatMap(({ kind, group, paths }) => {
    const around = paths.flatMap((path) => /^.+?(?=\.spec\.template$)/.exec(path) ?? []);
    const claims = WORKLOAD_KINDS.find((each) => each.kind === kind && each.group === group)?.claims;
    const all = [
      ...around.map(podsAt),
      ...(claims ? [`object${optional(claims.join('.'))}.orValue([])`] : []),
    ];
    return all.length === 0 ? [] : [`${isKind(group, kind)} ?\n${all.join(' + ')}`];
  });
  return [...cases, '[]'].join(' :\n');
}

/** The names of containers with the image `auto`, but for Istio's. */
function autoExpression(): string {
  const isAuto = `has(container.image) && container.image == ${celString(AUTO_IMAGE)} && container.name != ${celString(ISTIO_CONTAINER)}`;
  const of = (list: string) => `pod.?spec.?${list}.orValue([])`;
  const names = `(${of('containers')} + ${of('initContainers')}).filter(container, ${isAuto}).map(container, container.name)`;
  return `request.kind.kind == "Namespace" ? [] :\nvariables.pods.map(pod, ${names}).filter(names, size(names) > 0).map(names, names[0])`;
}

/** Whether a pod or the namespace opts in. */
function saysTrue(key: string): string {
  const pod = (map: 'labels' | 'annotations') =>
    `(${podHas(map, key)} && pod.metadata.${map}[${key}] == "true")`;
  const namespace = `(has(namespaceObject.metadata.labels) && ${key} in namespaceObject.metadata.labels && namespaceObject.metadata.labels[${key}] == "true")`;
  return `variables.pods.exists(pod, ${pod('labels')} || ${pod('annotations')}) ||\n${namespace}`;
}

/** A list of the pod templates at a path, without those that are missing. */
function podsAt(path: string): string {
  if (path === '') return '[object]';
  const [before = '', after] = path.split(/(?:\[\]|\.\*)\./, 2);
  const found = `object${optional(before)}`;
  if (after === undefined) return `[?${found}]`;
  if (path.includes('[]')) return `${found}.orValue([]).map(item, item${required(after)})`;
  return `${found}.orValue({}).map(key, object${required(before)}[key]${required(after)})`;
}

const optional = (path: string) => path.replaceAll(/(?:^|\.)/g, '.?');
const required = (path: string) => `.${path}`;

function podHas(map: 'labels' | 'annotations', key: string): string {
  return `has(pod.metadata) && has(pod.metadata.${map}) && ${key} in pod.metadata.${map}`;
}

/** The values that decide, by the order of labels and annotations, and are neither true nor false. */
function wrongValues(key: string): string {
  const value = (map: 'labels' | 'annotations') => `${podHas(map, key)} ? pod.metadata.${map}[${key}]`;
  // Annotations of namespaces decide nothing.
  const values = `${value('labels')} :\nrequest.kind.kind != "Namespace" && ${value('annotations')} : "true"`;
  return `variables.pods.map(pod, ${values}).filter(value, !(value in ${celStrings(['true', 'false'])}))`;
}

/** Whether the webhook warns of the same pod. */
function webhookWarns(key: string): string {
  const labels = 'namespaceObject.metadata.labels';
  return `(${isKind('', 'Pod')} && has(${labels}) && ${key} in ${labels} && ${labels}[${key}] == "true")`;
}

/** The API server ignores a message with line breaks. */
function wrongMessage(key: string): string {
  const place = `(request.kind.kind == "Pod" ? "pod" : request.kind.kind == "Namespace" ? "namespace" : "pod template")`;
  const value = 'string(variables.wrong[0]).replace("\\n", " ")';
  const cut = `(size(${value}) > ${MAX_VALUE} ? ${value}.substring(0, ${MAX_VALUE}) + "…" : ${value})`;
  return `${celString(`${key} of the `)} + ${place} + " is \\"" +\n${cut} + "\\": write \\"true\\" or \\"false\\""`;
}
