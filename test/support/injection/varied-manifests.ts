import { OPT_IN } from './demo.ts';

/** How a workload holds its pod template. */
const KINDS: readonly (readonly [string, string, (name: string, pod: object) => object])[] = [
  ['v1', 'Pod', (_, pod) => pod],
  ['v1', 'PodTemplate', (_, pod) => ({ template: pod })],
  ['v1', 'ReplicationController', (name, pod) => ({ spec: { selector: { app: name }, template: pod } })],
  ['apps/v1', 'Deployment', selected],
  ['apps/v1', 'ReplicaSet', selected],
  ['apps/v1', 'StatefulSet', (name, pod) => ({ spec: { ...selected(name, pod).spec, serviceName: name } })],
  ['apps/v1', 'DaemonSet', selected],
  ['batch/v1', 'Job', (_, pod) => ({ spec: { template: ending(pod) } })],
  // Of OpenShift, and of nobody that this program knows: VARIED_CRDS, ROLLOUT_RULE.
  [
    'apps.openshift.io/v1',
    'DeploymentConfig',
    (name, pod) => ({ spec: { selector: { app: name }, template: pod } }),
  ],
  ['argoproj.io/v1alpha1', 'Rollout', selected],
  [
    'batch/v1',
    'CronJob',
    (_, pod) => ({ spec: { schedule: '* * * * *', jobTemplate: { spec: { template: ending(pod) } } } }),
  ],
];

const PODS: readonly (readonly [string, object])[] = [
  ['plain', { containers: [{ name: 'app', image: 'busybox' }] }],
  [
    'busy',
    {
      containers: [
        {
          name: 'app',
          image: 'nginx',
          ports: [{ containerPort: 8080 }],
          env: [
            { name: 'A', value: 'yes' },
            { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          ],
          readinessProbe: { httpGet: { path: '/', port: 8080 } },
          resources: { requests: { cpu: '10m' }, limits: { memory: '64Mi' } },
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
        { name: 'second', image: 'busybox', command: ['sh', '-c', 'echo "a: b" # c\nsleep 1\n'] },
      ],
      volumes: [
        { name: 'data', emptyDir: { sizeLimit: '1Gi' } },
        { name: 'conf', configMap: { name: 'c', defaultMode: 420 } },
      ],
    },
  ],
  [
    'initialised',
    {
      initContainers: [
        { name: 'setup', image: 'busybox' },
        { name: 'native', image: 'busybox', restartPolicy: 'Always' },
      ],
      containers: [{ name: 'app', image: 'busybox', securityContext: { runAsUser: 1000 } }],
      securityContext: { fsGroup: 2000 },
      tolerations: [{ operator: 'Exists' }],
    },
  ],
  [
    'overlaid',
    {
      containers: [
        { name: 'app', image: 'busybox' },
        { name: 'envoy', image: 'auto', args: ['--log-level debug'] },
      ],
    },
  ],
  [
    'emptied',
    {
      initContainers: [],
      containers: [{ name: 'app', image: 'busybox', env: [], volumeMounts: null }],
      volumes: null,
    },
  ],
  [
    'bounded',
    {
      activeDeadlineSeconds: 2147483647,
      containers: [{ name: 'app', image: 'busybox', tty: true }],
      hostname: 'on',
    },
  ],
];

/** Where a Rollout has the template of its pods. */
export const ROLLOUT_RULE = 'Rollout.argoproj.io=spec.template';

/** What an API server must know to be given varied objects. */
export const VARIED_CRDS: readonly object[] = [
  crd('apps.openshift.io', 'v1', 'DeploymentConfig'),
  crd('argoproj.io', 'v1alpha1', 'Rollout'),
];

function crd(group: string, version: string, kind: string): object {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}

/** Objects of every kind that holds pods, with pods of many forms, all of which opt in. */
export function variedObjects(): readonly object[] {
  return KINDS.flatMap(([apiVersion, kind, hold]) =>
    PODS.filter(
      ([form]) => !(form === 'bounded' && kind !== 'Pod' && kind !== 'Job' && kind !== 'CronJob'),
    ).map(([form, spec], index) => {
      const name = `${kind.toLowerCase()}-${form}`;
      const place = index % 2 === 0 ? 'labels' : 'annotations';
      const metadata = {
        labels: { app: name },
        [place]: { ...(place === 'labels' && { app: name }), [OPT_IN]: 'true' },
      };
      const held = hold(name, { metadata, spec });
      const own = kind === 'Pod' ? { ...metadata, name } : { name };
      return { apiVersion, kind, ...held, metadata: own };
    }),
  );
}

function selected(name: string, pod: object) {
  return { spec: { selector: { matchLabels: { app: name } }, template: pod } };
}

function ending(pod: object): object {
  const spec = 'spec' in pod ? (pod.spec as object) : {};
  return { ...pod, spec: { ...spec, restartPolicy: 'Never' } };
}
