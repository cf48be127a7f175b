import { OPT_IN } from './demo.ts';

/** How a workload holds its pod template. */
const KINDS: readonly (readonly [string, string, (name: string, pod: object) => object])[] = [
  ['v1', 'Pod', (_, pod) => pod],
  ['v1', 'ReplicationController', (name, pod) => ({ spec: { selector: { app: name }, template: pod } })],
  ['apps/v1', 'Deployment', selected],
  ['apps/v1', 'ReplicaSet', selected],
  ['apps/v1', 'StatefulSet', (name, pod) => ({ spec: { ...selected(name, pod).spec, serviceName: name } })],
  ['apps/v1', 'DaemonSet', selected],
  ['batch/v1', 'Job', (_, pod) => ({ spec: { template: ending(pod) } })],
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
