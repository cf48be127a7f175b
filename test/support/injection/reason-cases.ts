import type { SkipReason } from '../../../src/injection/rules/index.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { DEMO_TEMPLATE, OPT_IN, STATUS } from './demo.ts';

/** A pod that gets no sidecar. */
export interface ReasonCase {
  readonly name: string;
  /** One of NAMESPACES, or of those that every cluster has; by default `plain`. */
  readonly namespace?: string;
  readonly pod: JsonObject;
  /** The API server, by the selectors of deploy/base, does not ask the webhook at all. */
  readonly asked?: false;
  /** The warning to the creator of the pod, after the reason; none: nothing. */
  readonly warning?: RegExp;
  /** The warning of the policy `envoy-initializer-opt-in`, where the webhook is not asked. */
  readonly policyWarning?: RegExp;
  /** What the API server answers, if it does not take the pod. */
  readonly refused?: { readonly code: number; readonly message: RegExp };
}

/** By their names, and their labels. */
export const NAMESPACES = {
  plain: {},
  'opted-in': { [OPT_IN]: 'true' },
  'opted-out': { [OPT_IN]: 'false' },
  mistyped: { [OPT_IN]: 'treu' },
  restricted: { 'pod-security.kubernetes.io/enforce': 'restricted' },
  limited: {},
} as const;

/** A pod with one application; `metadata` and `spec` take the place of single fields. */
export function appPod(metadata: JsonObject, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'pod', ...metadata },
    spec: { containers: [{ name: 'app', image: 'busybox' }], ...spec },
  };
}

const labelled = (value: string) => appPod({ labels: { [OPT_IN]: value } });
const annotated = (annotations: JsonObject, spec?: JsonObject) =>
  appPod({ annotations: { [OPT_IN]: 'true', ...annotations } }, spec);
const asking = (spec: JsonObject = {}) => annotated({}, spec);
const envoy = (container: JsonObject) => ({
  containers: [
    { name: 'app', image: 'busybox' },
    { name: 'envoy', ...container },
  ],
});
const RESTRICTED = {
  securityContext: { runAsNonRoot: true, runAsUser: 1, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      name: 'app',
      image: 'busybox',
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    },
  ],
};

/** The templates that the cases are about. */
export const TEMPLATES = {
  config: DEMO_TEMPLATE,
  'config.gentle':
    'containers: [{name: envoy, image: "busybox:1", lifecycle: {postStart: {sleep: {seconds: 5}}}}]',
  'config.capture':
    'initContainers: [{name: rules, image: i, command: [capture.sh], securityContext: {capabilities: {add: [NET_ADMIN]}}}]\ncontainers: [{name: envoy, image: i, securityContext: {runAsUser: 1337}}]',
};

/** At least one for each reason to skip: the compiler asks for it. Those of no creation are in a table of their own. */
// biome-ignore format: a line for each case
export const REASON_CASES: Readonly<
  Record<Exclude<SkipReason, 'not-a-pod-create' | 'no-template' | 'proxy-user'>, readonly ReasonCase[]>
> = {
  'system-namespace': ['kube-system', 'kube-public', 'kube-node-lease'].map((namespace) => ({
    name: namespace,
    namespace,
    pod: asking(),
    asked: false,
    warning: new RegExp(`^${namespace} is a system namespace`),
  })),
  'operator-namespace': [
    {
      name: "the operator's namespace",
      namespace: 'envoy-initializer',
      pod: asking(RESTRICTED),
      asked: false,
      warning: /^envoy-initializer is the operator's namespace/,
    },
  ],
  'mirror-pod': [
    {
      name: 'what a kubelet runs from a file',
      pod: annotated({ 'kubernetes.io/config.mirror': 'hash' }, { nodeName: 'node' }),
    },
  ],
  windows: [
    {
      name: 'by its os',
      pod: asking({ os: { name: 'windows' } }),
      warning: /^spec\.os\.name is windows, but the sidecar needs Linux: remove the opt-in$/,
    },
    {
      name: 'by its node selector',
      pod: asking({ nodeSelector: { 'kubernetes.io/os': 'windows' } }),
      warning:
        /^spec\.nodeSelector\["kubernetes\.io\/os"\] is windows, but the sidecar needs Linux: remove the opt-in$/,
    },
    {
      name: 'that did not ask itself',
      namespace: 'opted-in',
      pod: appPod({}, { os: { name: 'windows' } }),
    },
  ],
  'host-network': [
    {
      name: 'on the network of its host',
      pod: asking({ hostNetwork: true }),
      warning: /^spec\.hostNetwork is true/,
    },
  ],
  'no-containers': [
    {
      name: 'that the API server refuses by itself',
      pod: asking({ containers: [] }),
      refused: { code: 422, message: /spec\.containers: Required value/ },
    },
  ],
  'invalid-value': [
    {
      name: 'on a pod of a namespace that opts in',
      namespace: 'opted-in',
      pod: annotated({ [OPT_IN]: 'yes' }),
      warning: /^the pod's annotation \S+ is "yes": write "true" or "false"$/,
    },
    { name: 'as the label of a pod of such a namespace', namespace: 'opted-in', pod: labelled('True'), warning: /^the pod's label \S+ is "True": write/ },
    {
      name: 'on a pod of any other namespace',
      pod: annotated({ [OPT_IN]: 'yes' }),
      asked: false,
      warning: /^the pod's annotation \S+ is "yes"/,
      policyWarning: /of the pod is "yes": write "true" or "false"$/,
    },
    { name: 'on a namespace', namespace: 'mistyped', pod: appPod({}), asked: false, warning: /^the namespace's label \S+ is "treu"/ },
  ],
  'opted-out': [
    { name: 'by the label of the pod', namespace: 'opted-in', pod: labelled('false'), asked: false },
    { name: 'by its label, although its annotation says yes', pod: appPod({ labels: { [OPT_IN]: 'false' }, annotations: { [OPT_IN]: 'true' } }), asked: false },
    { name: 'by the annotation of the pod', namespace: 'opted-in', pod: annotated({ [OPT_IN]: 'false' }), asked: false },
    { name: 'by the label of the namespace', namespace: 'opted-out', pod: appPod({}), asked: false },
  ],
  'not-opted-in': [{ name: 'where nobody asked', pod: appPod({}), asked: false }],
  'unknown-template': [
    {
      name: 'that nobody wrote',
      pod: annotated({ [`${OPT_IN}-templates`]: 'config,nope' }),
      warning:
        /^the pod's annotation \S+-templates names template "nope", which does not exist: use another, or add it to the ConfigMap$/,
    },
  ],
  // A second call for an injected pod is in the test itself.
  'already-injected': [],
  'container-exists': [
    {
      name: "of the pod's own",
      pod: asking(envoy({ image: 'mine' })),
      warning: /^the pod has its own container envoy: .* set its image to auto$/,
    },
    {
      name: 'of an earlier injection',
      pod: annotated(
        {
          [STATUS]: JSON.stringify({
            version: 1,
            templates: [{ name: 'config', sha256: 'old' }],
            added: { containers: ['envoy'] },
          }),
        },
        envoy({ image: 'old' }),
      ),
      // The conditions of the webhooks pass over what has its sidecar already.
      asked: false,
      warning: /^the pod has container envoy from an earlier injection/,
    },
    {
      name: 'among its init containers',
      namespace: 'opted-in',
      pod: appPod({}, { initContainers: [{ name: 'envoy', image: 'mine' }] }),
      warning: /^the pod has its own container envoy/,
    },
  ],
  'invalid-override': [
    {
      name: 'laid over the template by the image auto',
      pod: asking(envoy({ image: 'auto', resources: { requests: { cpu: '2' } } })),
      warning:
        /^container envoy: resources\.requests\.cpu: 2 exceeds the limit 1000m: lower it, or raise the limit$/,
    },
  ],
  conflict: [
    {
      name: 'over a volume',
      pod: asking({ volumes: [{ name: 'envoy-conf', emptyDir: {} }] }),
      warning:
        /^spec\.volumes\[name=envoy-conf\]: the template has another volume of this name: rename one of them$/,
    },
    {
      name: 'over a port',
      namespace: 'opted-in',
      pod: appPod({}, { containers: [{ name: 'app', image: 'a', ports: [{ containerPort: 80 }] }] }),
      warning: /^spec\.containers\[name=app\]\.ports\[containerPort=80\/TCP\]/,
    },
  ],
  'pod-resources': [
    {
      name: "of the pod's own",
      pod: asking({ resources: { requests: { cpu: '50m' } } }),
      warning: /^the containers would request more than spec\.resources\.requests\.cpu, which is 50m$/,
    },
  ],
  'grace-period': [
    {
      name: 'shorter than the sleep of a template',
      pod: annotated({ [`${OPT_IN}-templates`]: 'gentle' }, { terminationGracePeriodSeconds: 4 }),
      warning:
        /^the postStart hook of container envoy sleeps for 5 seconds, but the pod's terminationGracePeriodSeconds is 4: set it to 5 or more$/,
    },
  ],
  'limit-range': [
    {
      name: 'a maximum below the limit of the sidecar',
      namespace: 'limited',
      pod: asking(),
      warning: /^container envoy: memory violates max 256Mi of LimitRange small$/,
    },
  ],
  'pod-security': [
    {
      name: 'that the namespace enforces',
      namespace: 'restricted',
      pod: asking(RESTRICTED),
      warning:
        /^the namespace enforces restricted pod security: container envoy must set allowPrivilegeEscalation/,
    },
  ],
};
